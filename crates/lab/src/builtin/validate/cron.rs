//! Schedules of `CronJob`s: five fields, or a word such as `@daily`.

/// The numbers that a field may have, and the names of some of them.
struct Bounds {
    low: u64,
    high: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { low: 0, high: 59, names: &[] },
    Bounds { low: 0, high: 23, names: &[] },
    Bounds { low: 1, high: 31, names: &[] },
    Bounds {
        low: 1,
        high: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Bounds { low: 0, high: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// Reads a schedule; the error is the sentence of the real server.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let mut text = schedule;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let Some((_, rest)) = text.split_once(' ') else { return Err("invalid schedule".into()) };
        text = rest.trim();
    }
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for expression in field.split(',').filter(|it| !it.is_empty()) {
            range(expression, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match text.strip_prefix("@every ") {
            Some(duration) if is_duration(duration) => Ok(()),
            Some(duration) => {
                Err(format!("failed to parse duration {text}: time: invalid duration {duration:?}"))
            }
            None => Err(format!("unrecognized descriptor: {text}")),
        },
    }
}

/// A duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !(it.is_ascii_digit() || it == '.')).unwrap_or(rest.len());
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .into_iter()
            .filter(|unit| rest[digits..].starts_with(unit))
            .max_by_key(|unit| unit.len());
        match unit {
            Some(unit) if digits > 0 => rest = &rest[digits + unit.len()..],
            _ => return false,
        }
    }
    true
}

fn range(expression: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = expression.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = if matches!(ends[0], "*" | "?") {
        (bounds.low, bounds.high)
    } else {
        let start = number_or_name(ends[0], bounds)?;
        match ends.len() {
            1 => (start, start),
            2 => (start, number_or_name(ends[1], bounds)?),
            _ => return Err(format!("too many hyphens: {expression}")),
        }
    };
    let step = match parts.len() {
        1 => 1,
        2 => {
            let step = number(parts[1])?;
            if ends.len() == 1 {
                end = bounds.high;
            }
            step
        }
        _ => return Err(format!("too many slashes: {expression}")),
    };
    let (low, high) = (bounds.low, bounds.high);
    if start < low {
        return Err(format!("beginning of range ({start}) below minimum ({low}): {expression}"));
    }
    if end > high {
        return Err(format!("end of range ({end}) above maximum ({high}): {expression}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {expression}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {expression}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(bounds.low + u64::try_from(index).unwrap_or(0)),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    match text.parse::<i64>() {
        Ok(number) => {
            u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
        Err(_) => {
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_schedules_are_read() {
        for schedule in
            ["* * * * *", "*/5 0-6,12 1 jan MON-fri", "0 0 ? * 0", "@daily", "@every 1h30m", "59 23 31 12 6"]
        {
            assert_eq!(parse(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn wrong_schedules_are_refused_with_the_reason() {
        let refused = |schedule: &str, why: &str| assert_eq!(parse(schedule), Err(why.into()));
        refused("* * * *", "expected exactly 5 fields, found 4: [* * * *]");
        refused("60 * * * *", "end of range (60) above maximum (59): 60");
        refused("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        refused("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1");
        refused("*/0 * * * *", "step of range should be a positive number: */0");
        refused("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
        refused("@never", "unrecognized descriptor: @never");
    }
}
