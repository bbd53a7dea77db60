//! What became of the request for a release and of the rest of the spec: the conditions that are not about a run.

use std::collections::BTreeSet;

use lockstep_api::names::{condition, reason};
use lockstep_api::validation::{FieldError, invalid_message};
use lockstep_api::{ClusterVersionSpec, Condition, ConditionStatus};
use lockstep_graph::report::Loaded;

/// `Invalid`: which parts of the spec cannot be used; nothing when all can.
pub fn invalid(errors: &[FieldError]) -> Option<Condition> {
    let message = invalid_message(errors)?;
    Some(
        Condition::new(condition::INVALID, ConditionStatus::True)
            .because(reason::INVALID_CLUSTER_VERSION, message),
    )
}

/// `ImplicitlyEnabledCapabilities`: what is on although the spec does not ask for it.
pub fn implicitly_enabled(implicit: &BTreeSet<String>) -> Condition {
    let new = |status| Condition::new(condition::IMPLICITLY_ENABLED_CAPABILITIES, status);
    if implicit.is_empty() {
        return new(ConditionStatus::False)
            .because(reason::AS_EXPECTED, "Capabilities match configured spec");
    }
    let names: Vec<&str> = implicit.iter().map(String::as_str).collect();
    let message = format!("The following capabilities could not be disabled: {}", names.join(", "));
    new(ConditionStatus::True).because(reason::CAPABILITIES_IMPLICITLY_ENABLED, message)
}

/// `ReleaseAccepted`: how far the load of the wanted release came; nothing before its first step.
///
/// Remarks stand here, behind a release that was accepted: it is the condition about what was taken of a release, no
/// alert fires for it while it is True, and the message of Progressing, which a table shows, stays short.
///
/// *Compatibility*: the reference verifies a foreign release or refuses it. Here one that was not verified is said to be so.
pub fn release_accepted(loaded: &Loaded, remarks: &[String]) -> Option<Condition> {
    let Loaded { step, message, failure, image, is_local, verified, .. } = loaded;
    let new = |status, message| Condition::new(condition::RELEASE_ACCEPTED, status).because(*step, message);
    match (*step, failure) {
        ("", _) => None,
        (reason::PAYLOAD_LOADED, _) => {
            let unverified = (!is_local && !verified).then(|| not_verified(image));
            let lines = std::iter::once(message.clone()).chain(unverified).chain(remarks.iter().cloned());
            Some(new(ConditionStatus::True, lines.collect::<Vec<_>>().join("\n")))
        }
        (_, Some(_)) => Some(new(ConditionStatus::False, message.clone())),
        (_, None) => Some(new(ConditionStatus::Unknown, message.clone())),
    }
}

/// What is known about a release that nobody vouches for.
fn not_verified(image: &str) -> String {
    let digest = if image.contains('@') { "; its contents match the digest of its image" } else { "" };
    format!("The release was not verified: no signature was checked{digest}.")
}

/// `RetrievedUpdates`: no update service is asked yet.
pub fn retrieved_updates(spec: &ClusterVersionSpec) -> Condition {
    let (reason, message) = if spec.channel.is_empty() {
        (reason::NO_CHANNEL, "The update channel has not been configured.")
    } else {
        let message = "No update service is asked, so no updates are listed. Ask for a release by its image in \
                       spec.desiredUpdate.image.";
        (reason::NO_UPSTREAM, message)
    };
    Condition::new(condition::RETRIEVED_UPDATES, ConditionStatus::False).because(reason, message)
}

#[cfg(test)]
mod tests {
    use lockstep_graph::report::Failure;

    use super::*;

    fn text(condition: &Condition) -> String {
        let Condition { status, reason, message, .. } = condition;
        format!("{status} | {reason} | {message}")
    }

    fn loaded(step: &'static str) -> Loaded {
        Loaded {
            step,
            message: format!("{step} version=\"1\""),
            image: "example.com/release@sha256:d".to_owned(),
            verified: true,
            ..Loaded::default()
        }
    }

    #[test]
    fn a_load_is_accepted_refused_or_on_its_way() {
        assert_eq!(release_accepted(&Loaded::default(), &["remark".to_owned()]), None);
        let told = |loaded: &Loaded| text(&release_accepted(loaded, &[]).unwrap());
        let done = loaded("PayloadLoaded");
        assert_eq!(told(&done), "True | PayloadLoaded | PayloadLoaded version=\"1\"");
        for step in ["RetrievePayload", "LoadPayload", "VerifyPayloadVersion", "PreconditionChecks"] {
            let way = loaded(step);
            assert_eq!(told(&way), format!("Unknown | {step} | {step} version=\"1\""));
            let failed = Loaded { failure: Some(Failure::new("", "no")), ..way };
            assert_eq!(told(&failed), format!("False | {step} | {step} version=\"1\""));
        }
    }

    #[test]
    fn an_accepted_release_that_nobody_vouches_for_says_so() {
        let told = |loaded: &Loaded| release_accepted(loaded, &[]).unwrap().message;
        let unverified = Loaded { verified: false, ..loaded("PayloadLoaded") };
        assert_eq!(
            told(&unverified),
            "PayloadLoaded version=\"1\"\nThe release was not verified: no signature was checked; its contents match the \
             digest of its image."
        );
        let by_tag = Loaded { image: "example.com/release:1".to_owned(), ..unverified.clone() };
        assert!(told(&by_tag).ends_with("no signature was checked."));
        let own = Loaded { is_local: true, ..unverified };
        assert_eq!(told(&own), "PayloadLoaded version=\"1\"", "the operator's own needs none");
    }

    #[test]
    fn remarks_stand_behind_an_accepted_release_and_not_behind_a_cause() {
        let remarks = ["One.".to_owned(), "Two.".to_owned()];
        let told = |loaded: &Loaded| release_accepted(loaded, &remarks).unwrap().message;
        assert_eq!(told(&loaded("PayloadLoaded")), "PayloadLoaded version=\"1\"\nOne.\nTwo.");
        let failed = Loaded { failure: Some(Failure::new("", "no")), ..loaded("LoadPayload") };
        assert_eq!(told(&failed), "LoadPayload version=\"1\"");
    }

    #[test]
    fn capabilities_that_could_not_be_disabled_are_listed_sorted() {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(
            text(&implicitly_enabled(&set(&["b", "a"]))),
            "True | CapabilitiesImplicitlyEnabled | The following capabilities could not be disabled: a, b"
        );
        assert_eq!(
            text(&implicitly_enabled(&set(&[]))),
            "False | AsExpected | Capabilities match configured spec"
        );
    }

    #[test]
    fn without_a_channel_that_is_the_reason_else_that_nobody_is_asked() {
        let told = |channel: &str| {
            let spec = ClusterVersionSpec { channel: channel.to_owned(), ..ClusterVersionSpec::default() };
            text(&retrieved_updates(&spec))
        };
        assert_eq!(told(""), "False | NoChannel | The update channel has not been configured.");
        assert!(told("stable-4.20").starts_with("False | NoUpstream | No update service is asked"));
    }
}
