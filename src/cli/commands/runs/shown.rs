//! Records for people: a row of a list, and all of a record in lines.

use std::time::Duration;

use crate::cli::terminal::output::shown;
use crate::cli::terminal::readable::{age, first_digits, readable};
use wardian_stores::records::{
    RecordedContent, RecordedSkill, RecordedToolCall, RunRecord, RunSummary,
};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// Width of the names in front of values.
const NAMES: usize = 11;

/// Letters of a title in a list.
const WIDEST_TITLE: usize = 48;

/// A row of a list.
pub(super) fn row(run: &RunSummary, now: Duration) -> Vec<String> {
    let program = match (&run.skill, &run.version) {
        (Some(skill), Some(version)) => format!("{skill}@{version}"),
        _ => run.kind.clone(),
    };
    let outcome = match &run.error_type {
        Some(error) if run.outcome == "exception" || run.outcome == "refused" => {
            format!("{}: {error}", run.outcome)
        }
        _ => run.outcome.clone(),
    };
    let log = match run.log_bytes {
        0 => "-".to_owned(),
        bytes => readable(ByteCount::bytes(bytes)),
    };
    vec![
        run.run_id.to_string(),
        age(now.saturating_sub(Duration::from_millis(run.started_ms))),
        program,
        outcome,
        took(run.duration_us),
        log,
        run.title.as_deref().map_or_else(|| "-".to_owned(), short_title),
    ]
}

/// A title as a column of a terminal has room for it.
fn short_title(title: &str) -> String {
    let mut letters = title.chars();
    let begin: String = letters.by_ref().take(WIDEST_TITLE).collect();
    match letters.next() {
        Some(_) => format!("{begin}…"),
        None => begin,
    }
}

/// A duration with three digits or so.
fn took(microseconds: u64) -> String {
    match microseconds {
        0..10_000 => format!("{}.{} ms", microseconds / 1_000, microseconds % 1_000 / 100),
        10_000..10_000_000 => format!("{} ms", microseconds / 1_000),
        _ => format!("{} s", microseconds / 1_000_000),
    }
}

/// All of a record. `started` is how long ago the run began.
pub(super) fn lines(record: &RunRecord, started: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("{name:<NAMES$} {}", shown(&value)));
        }
    };
    add("run", record.run_id.to_string());
    add("title", record.label.as_ref().or(record.title.as_ref()).cloned().unwrap_or_default());
    let key = record.key.as_ref().map(|key| format!(", key {key}")).unwrap_or_default();
    add("caller", format!("tenant {}{key}, request {}", record.tenant, record.request_id));
    add("trace", record.trace_id.clone().unwrap_or_default());
    add("started", format!("{}, took {}", age(started), took(record.duration_us)));
    add("outcome", record.outcome.name().to_owned());
    if let Some(error) = &record.error {
        add("error", format!("{}: {}", error.error_type, error.message));
    }
    let code = record.code.as_ref().map(content).unwrap_or_default();
    let program = record.skill.as_ref().map_or(code, skill);
    add("program", format!("{} {program}", record.kind.name()));
    add("arguments", arguments(record));
    let mounted: Vec<String> = record.mounted_skills.iter().map(skill).collect();
    add("skills", mounted.join(", "));
    let layers: Vec<String> = record.layers.iter().map(first_digits).collect();
    add("layers", layers.join(", "));
    add("reads", names(&record.input_blobs));
    add("writes", names(&record.output_blobs));
    add("output", record.output.as_ref().map(content).unwrap_or_default());
    add("phases", phases(record));
    add("used", used(record));
    add("log", log(record));
    if let Some(network) = &record.network {
        for host in &network.hosts {
            let (sent, received) = (host.sent_bytes, host.received_bytes);
            let (sent, received) = (ByteCount::bytes(sent), ByteCount::bytes(received));
            let bytes = format!("{} sent, {} received", readable(sent), readable(received));
            let counts = format!("{} requests, {} refused", host.requests, host.refusals);
            add("host", format!("{}: {counts}, {bytes}", host.host));
        }
    }
    for call in &record.tool_calls {
        add("tool", tool_call(call));
    }
    let image = record.image.as_ref();
    let image =
        image.map(|image| format!(", image {} {}", image.name, first_digits(&image.digest)));
    let image = image.unwrap_or_default();
    add(
        "with",
        format!("Wardian {}, engine {}{image}", record.wardian, first_digits(&record.engine)),
    );
    lines
}

fn content(content: &RecordedContent) -> String {
    let size = readable(ByteCount::bytes(content.size_bytes));
    format!("{} ({size})", first_digits(&content.digest))
}

fn skill(skill: &RecordedSkill) -> String {
    let signer = skill.signer.as_ref().map(|signer| format!(", signed by {signer}"));
    let digest = first_digits(&skill.digest);
    format!("{}@{} {digest}{}", skill.name, skill.version, signer.unwrap_or_default())
}

fn tool_call(call: &RecordedToolCall) -> String {
    let approver = call.approved_by.as_ref().map(|name| format!(", approved by {name}"));
    let run = call.run_id.as_ref().map(|run| format!(", run {run}"));
    let arguments = first_digits(&call.arguments);
    let (approver, run) = (approver.unwrap_or_default(), run.unwrap_or_default());
    format!("{} {}, arguments {arguments}{approver}{run}", call.tool, call.end.name())
}

fn arguments(record: &RunRecord) -> String {
    let arguments = &record.arguments;
    let size = readable(ByteCount::bytes(arguments.size_bytes));
    let value = arguments.value.as_ref().map(|value| format!(" {}", value.get()));
    format!("{} ({size}){}", first_digits(&arguments.digest), value.unwrap_or_default())
}

fn names(blobs: &[BlobId]) -> String {
    blobs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn phases(record: &RunRecord) -> String {
    let phases = &record.phases_us;
    let all = [
        ("prepare", phases.prepare),
        ("queue", phases.queue),
        ("set up", phases.set_up),
        ("execute", phases.execute),
        ("of it blobs", phases.write_blob),
        ("of it network", phases.network),
        ("finish", phases.finish),
    ];
    let known = all.iter().filter_map(|(name, time)| Some(format!("{name} {}", took((*time)?))));
    known.collect::<Vec<_>>().join(", ")
}

fn used(record: &RunRecord) -> String {
    let memory = record.memory_peak_bytes.map(|bytes| readable(ByteCount::bytes(bytes)));
    let parts = [
        memory.map(|memory| format!("{memory} of memory")),
        record.cpu_us.map(|time| format!("{} of a processor", took(time))),
        record.fuel.map(|fuel| format!("{fuel} fuel")),
        record.host_calls.map(|calls| format!("{calls} host calls")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn log(record: &RunRecord) -> String {
    let log = &record.log;
    let lost = log.cut_bytes.saturating_add(log.dropped_bytes);
    match (log.bytes, lost) {
        (0, 0) => String::new(),
        (kept, 0) => readable(ByteCount::bytes(kept)),
        (kept, lost) => {
            let (kept, lost) = (ByteCount::bytes(kept), ByteCount::bytes(lost));
            format!("{}, {} more were not kept", readable(kept), readable(lost))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_stores::records::ToolCallEnd;
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn calls_of_tools_say_who_approved_them_and_what_they_executed() {
        let digest = Digest::of(b"x");
        let mut call = RecordedToolCall {
            id: "c1-r1".to_owned(),
            tool: "py.double".to_owned(),
            arguments: digest,
            result: digest,
            end: ToolCallEnd::Answered,
            approved_by: None,
            run_id: None,
        };
        let digits = first_digits(&digest);
        assert_eq!(tool_call(&call), format!("py.double answered, arguments {digits}"));
        call.approved_by = Some("ada".to_owned());
        assert!(tool_call(&call).ends_with(", approved by ada"));
    }

    #[test]
    fn durations_are_short() {
        for (microseconds, text) in [
            (0, "0.0 ms"),
            (1_250, "1.2 ms"),
            (9_999, "9.9 ms"),
            (10_000, "10 ms"),
            (9_999_999, "9999 ms"),
            (61_000_000, "61 s"),
        ] {
            assert_eq!(took(microseconds), text);
        }
    }
}
