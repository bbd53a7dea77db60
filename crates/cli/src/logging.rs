//! Logs to standard error, as text or JSON, with secrets masked; with the feature `otel` also spans to a collector.

use std::io::{self, IsTerminal as _, Write};

use anyhow::Context as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use lockstep_api::text::masked;

use crate::args::{LogFormat, LoggingArgs};

/// Keeps what has to be sent before the process ends; drop it last.
#[must_use = "spans that are not sent yet are lost when it is dropped at once"]
pub(crate) struct Logging {
    #[cfg(feature = "otel")]
    spans: Option<otel::Spans>,
}

/// The variable that chooses exactly what is logged.
const VARIABLE: &str = "RUST_LOG";

/// Begins to log; `instance` names this process to a collector of spans.
///
/// NB: to be called inside the runtime, where a collector is written to from.
pub(crate) fn begin(args: &LoggingArgs, instance: &str) -> anyhow::Result<Logging> {
    let chosen = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let filter = filter(args.verbosity, chosen.as_deref())?;
    let layers = vec![
        layer(args.log_format, io::stderr().is_terminal(), || Masking(io::stderr()))
            .with_filter(filter)
            .boxed(),
    ];
    #[cfg(feature = "otel")]
    let (layers, spans) = {
        let (layer, spans) = otel::layer(instance)?.unzip();
        (layers.into_iter().chain(layer).collect::<Vec<_>>(), spans)
    };
    #[cfg(not(feature = "otel"))]
    let _ = instance;
    tracing_subscriber::registry().with(layers).try_init().context("beginning to log")?;
    Ok(Logging {
        #[cfg(feature = "otel")]
        spans,
    })
}

/// What is logged at a level of the reference's flag `-v`, unless somebody chose otherwise.
///
/// *Compatibility*: the reference's own settings are 2 (normal), 4 (debug), 6 (trace) and 8 (all). Up to 7 libraries only
/// warn.
fn filter(verbosity: u8, chosen: Option<&str>) -> anyhow::Result<EnvFilter> {
    let usual = match verbosity {
        0..=1 => "warn",
        2..=3 => "warn,lockstep=info",
        4..=5 => "warn,lockstep=debug",
        6..=7 => "warn,lockstep=trace",
        _ => "trace",
    };
    let text = chosen.unwrap_or(usual);
    EnvFilter::try_new(text)
        .with_context(|| format!("`{text}` in {VARIABLE} does not say what to log; an example is `{usual}`"))
}

fn layer<W>(format: LogFormat, is_terminal: bool, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    match format {
        LogFormat::Text => fmt::layer().with_ansi(is_terminal).with_writer(writer).boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(writer).boxed(),
    }
}

/// Masks secrets in what is written; one write is one whole line.
struct Masking<W>(W);

impl<W: Write> Write for Masking<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(masked(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(feature = "otel")]
mod otel {
    //! Spans to an OpenTelemetry collector over HTTP with protobuf.

    use std::sync::Arc;
    use std::time::Duration;

    use anyhow::Context as _;
    use opentelemetry::KeyValue;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
    use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter as Export};
    use tokio::runtime::Handle;
    use tracing_subscriber::{EnvFilter, Layer, Registry};

    /// Sends spans from the runtime: those who collect them have a thread of their own, where no request can be made.
    #[derive(Debug)]
    struct FromRuntime {
        exporter: Arc<SpanExporter>,
        runtime: Handle,
    }

    /// Sends what is left when it is dropped.
    pub(super) struct Spans(SdkTracerProvider);

    /// The variable with the address of the collector; nothing is sent without it.
    const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

    pub(super) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

    /// The layer that sends spans, if there is somebody to send them to.
    pub(super) fn layer(instance: &str) -> anyhow::Result<Option<(BoxedLayer, Spans)>> {
        if std::env::var(ENDPOINT).is_ok_and(|endpoint| !endpoint.is_empty()) {
            // NB: the exporter reads the address itself, and adds the path of spans to it.
            let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build();
            let exporter = exporter.with_context(|| format!("reaching the collector of {ENDPOINT}"))?;
            let exporter = FromRuntime { exporter: Arc::new(exporter), runtime: Handle::current() };
            let resource = Resource::builder()
                .with_service_name("lockstep")
                .with_attribute(KeyValue::new("service.instance.id", instance.to_owned()))
                .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
                .build();
            let provider =
                SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
            let tracer = provider.tracer("lockstep");
            // Only our own: the exporter's requests would make spans of which requests are made.
            let layer = tracing_opentelemetry::layer()
                .with_tracer(tracer)
                .with_filter(EnvFilter::new("lockstep=debug"));
            return Ok(Some((layer.boxed(), Spans(provider))));
        }
        Ok(None)
    }

    impl Export for FromRuntime {
        fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
            let exporter = Arc::clone(&self.exporter);
            let sent = self.runtime.spawn(async move { exporter.export(batch).await });
            async { sent.await.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string()))) }
        }

        fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
            self.exporter.shutdown_with_timeout(timeout)
        }

        fn set_resource(&mut self, resource: &Resource) {
            // Nothing is sent yet, so nobody else holds it.
            if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
                exporter.set_resource(resource);
            }
        }
    }

    impl Drop for Spans {
        fn drop(&mut self) {
            // Whoever ends has nobody left to tell that the collector is gone.
            let _ = self.0.shutdown();
        }
    }
}

#[cfg(feature = "otel")]
impl Drop for Logging {
    fn drop(&mut self) {
        drop(self.spans.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written while something is logged.
    fn logged(format: LogFormat, filter: EnvFilter, log: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let layer = layer(format, false, move || Masking(writer.clone())).with_filter(filter);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
    }

    fn levels(verbosity: u8) -> Vec<&'static str> {
        let text = logged(LogFormat::Text, filter(verbosity, None).unwrap(), || {
            tracing::warn!(target: "hyper", "other-warn");
            tracing::info!(target: "hyper", "other-info");
            tracing::info!(target: "lockstep_operator::sync", "our-info");
            tracing::debug!(target: "lockstep_operator::sync", "our-debug");
            tracing::trace!(target: "lockstep_operator::sync", "our-trace");
        });
        let all = ["other-warn", "other-info", "our-info", "our-debug", "our-trace"];
        all.into_iter().filter(|word| text.contains(word)).collect()
    }

    #[test]
    fn levels_of_the_flag_open_one_after_the_other() {
        assert_eq!(levels(0), ["other-warn"]);
        assert_eq!(levels(2), ["other-warn", "our-info"]);
        assert_eq!(levels(4), ["other-warn", "our-info", "our-debug"]);
        assert_eq!(levels(6), ["other-warn", "our-info", "our-debug", "our-trace"]);
        assert_eq!(levels(8), ["other-warn", "other-info", "our-info", "our-debug", "our-trace"]);
    }

    #[test]
    fn what_was_chosen_wins_and_nonsense_is_refused_by_name() {
        let text = logged(LogFormat::Text, filter(0, Some("hyper=info")).unwrap(), || {
            tracing::info!(target: "hyper", "other-info");
            tracing::warn!(target: "lockstep_operator", "our-warn");
        });
        assert!(text.contains("other-info") && !text.contains("our-warn"), "{text}");
        let error = filter(2, Some("a=b=c")).unwrap_err().to_string();
        assert!(error.contains("`a=b=c`") && error.contains("RUST_LOG"), "{error}");
    }

    #[test]
    fn json_is_one_object_per_line_and_secrets_are_masked_in_both_forms() {
        let log = || tracing::info!(url = "https://a:b@example.com/", "with Bearer 0123456789abcdef0123");
        let text = logged(LogFormat::Json, filter(8, None).unwrap(), log);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["fields"]["message"], "with Bearer (secret)");
        assert_eq!(line["fields"]["url"], "https://(secret)@example.com/");
        let text = logged(LogFormat::Text, filter(8, None).unwrap(), log);
        assert!(!text.contains("a:b") && !text.contains("0123456789"), "{text}");
    }
}
