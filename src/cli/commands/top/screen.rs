//! What is shown: the state of a server, and what it did between two samples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::commands::top::sample::Sample;

/// Maximum number of tenants that are shown: those with the most runs.
const TENANTS: usize = 15;

const MEBIBYTE: f64 = 1_048_576.0;

/// A server between two moments. Rates are per second.
#[derive(Debug, Serialize)]
pub(super) struct View {
    seconds: f64,
    /// Worker processes by their state.
    workers: BTreeMap<String, f64>,
    worker_slots: f64,
    running: f64,
    queued: f64,
    /// Runs by their end.
    runs: BTreeMap<String, f64>,
    phases: Vec<PhaseTimes>,
    tenants: Vec<TenantRates>,
    /// HTTP requests by their route.
    requests: BTreeMap<String, f64>,
    connections: f64,
    /// Share of one core that the gateway takes.
    gateway_cpu: f64,
    gateway_memory_bytes: f64,
    request_memory_bytes: f64,
    request_memory_limit_bytes: f64,
    /// Bytes between runs and the world, by direction.
    network: BTreeMap<String, f64>,
}

/// The times of a phase, in seconds. `None` if no run ended.
#[derive(Debug, Serialize)]
struct PhaseTimes {
    phase: &'static str,
    mean: Option<f64>,
    /// Half of the runs took at most this, and 99 of 100 that: the bounds of buckets.
    median: Option<f64>,
    p99: Option<f64>,
}

#[derive(Debug, Serialize)]
struct TenantRates {
    tenant: String,
    completed: f64,
    failed: f64,
    refused: f64,
}

impl View {
    pub(super) fn between(before: &Sample, now: &Sample) -> Self {
        let seconds = now.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let rates = |name: &str, label: &str| rates_of(before, now, name, label, seconds);
        let value = |name: &str| now.value(name).unwrap_or_default();
        let cpu = value("process_cpu_seconds_total")
            - before.value("process_cpu_seconds_total").unwrap_or_default();
        Self {
            seconds,
            workers: now.by("wardian_workers", "state"),
            worker_slots: value("wardian_worker_slots"),
            running: value("wardian_runs_running"),
            queued: value("wardian_runs_queued"),
            runs: rates("wardian_runs_total", "outcome"),
            phases: ["queue", "set_up", "execute", "total"]
                .map(|phase| PhaseTimes::of(before, now, phase))
                .into(),
            tenants: tenants_of(before, now, seconds),
            requests: rates("wardian_http_requests_total", "route"),
            connections: value("wardian_http_connections"),
            gateway_cpu: cpu / seconds,
            gateway_memory_bytes: value("process_resident_memory_bytes"),
            request_memory_bytes: value("wardian_request_memory_bytes"),
            request_memory_limit_bytes: value("wardian_request_memory_limit_bytes"),
            network: rates("wardian_egress_bytes_total", "direction"),
        }
    }

    /// The view for a terminal.
    pub(super) fn text(&self, url: &str) -> String {
        let mut text = format!("Wardian at {url}, the last {:.1} s\n\n", self.seconds);
        let counts = |counts: &BTreeMap<String, f64>| {
            let counts = counts.iter().map(|(name, count)| format!("{count:.0} {name}"));
            counts.collect::<Vec<_>>().join(", ")
        };
        let rates = |rates: &BTreeMap<String, f64>| {
            let rates = rates.iter().filter(|(_, rate)| **rate > 0.0);
            let rates: Vec<_> = rates.map(|(name, rate)| format!("{name} {rate:.1}")).collect();
            if rates.is_empty() { "none".to_owned() } else { rates.join(", ") }
        };
        let mut line = |name: &str, shown: String| {
            // Writing to a string cannot fail.
            let whole = format!("{name:<10}{shown}");
            writeln!(text, "{}", whole.trim_end()).ok();
        };
        line("workers", format!("{} of {:.0}", counts(&self.workers), self.worker_slots));
        line("runs", format!("{:.0} running, {:.0} waiting", self.running, self.queued));
        line("ends/s", rates(&self.runs));
        line("HTTP/s", format!("{}; {:.0} connections", rates(&self.requests), self.connections));
        let gateway = format!(
            "{:.0} % of a core, {:.0} MiB; requests hold {:.1} of {:.0} MiB",
            100.0 * self.gateway_cpu,
            self.gateway_memory_bytes / MEBIBYTE,
            self.request_memory_bytes / MEBIBYTE,
            self.request_memory_limit_bytes / MEBIBYTE,
        );
        line("gateway", gateway);
        line("network", format!("bytes/s: {}", rates(&self.network)));
        line("", String::new());
        line("phase", format!("{:>12}{:>12}{:>12}", "mean", "half within", "99 % within"));
        for PhaseTimes { phase, mean, median, p99 } in &self.phases {
            let [mean, median, p99] = [mean, median, p99].map(|time| shown_time(*time));
            line(phase, format!("{mean:>12}{median:>12}{p99:>12}"));
        }
        if !self.tenants.is_empty() {
            line("", String::new());
            let width = self.tenants.iter().map(|one| one.tenant.len()).max().unwrap_or(0).max(8);
            let header = format!("{:<width$}", "tenant");
            writeln!(text, "{header}{:>14}{:>12}{:>12}", "completed/s", "failed/s", "refused/s")
                .ok();
            for TenantRates { tenant, completed, failed, refused } in &self.tenants {
                writeln!(text, "{tenant:<width$}{completed:>14.1}{failed:>12.1}{refused:>12.1}")
                    .ok();
            }
        }
        text.trim_end().to_owned()
    }
}

fn shown_time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds.is_infinite() => "longer".to_owned(),
        Some(seconds) if seconds < 1.0 => format!("{:.2} ms", 1_000.0 * seconds),
        Some(seconds) => format!("{seconds:.1} s"),
    }
}

fn rates_of(
    before: &Sample,
    now: &Sample,
    name: &str,
    label: &str,
    seconds: f64,
) -> BTreeMap<String, f64> {
    let earlier = before.by(name, label);
    let rate = |(label, count): (String, f64)| {
        let more = count - earlier.get(&label).copied().unwrap_or_default();
        // A server that was restarted counts from zero.
        (label, more.max(0.0) / seconds)
    };
    now.by(name, label).into_iter().map(rate).collect()
}

fn tenants_of(before: &Sample, now: &Sample, seconds: f64) -> Vec<TenantRates> {
    let counts = |sample: &Sample| {
        let mut counts: BTreeMap<(String, &'static str), f64> = BTreeMap::new();
        for (labels, count) in sample.of("wardian_runs_total") {
            let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
            let kind = match label("outcome").as_str() {
                "completed" => "completed",
                "refused" => "refused",
                _ => "failed",
            };
            *counts.entry((label("tenant"), kind)).or_insert(0.0) += count;
        }
        counts
    };
    let (earlier, later) = (counts(before), counts(now));
    let mut tenants: BTreeMap<String, TenantRates> = BTreeMap::new();
    for ((tenant, kind), count) in later {
        let key = (tenant, kind);
        let rate = (count - earlier.get(&key).copied().unwrap_or_default()).max(0.0) / seconds;
        let rates = tenants.entry(key.0.clone()).or_insert_with(|| TenantRates {
            tenant: key.0,
            completed: 0.0,
            failed: 0.0,
            refused: 0.0,
        });
        match kind {
            "completed" => rates.completed = rate,
            "refused" => rates.refused = rate,
            _ => rates.failed = rate,
        }
    }
    let mut tenants: Vec<_> = tenants.into_values().collect();
    let all = |one: &TenantRates| one.completed + one.failed + one.refused;
    tenants.sort_by(|one, other| all(other).total_cmp(&all(one)));
    tenants.truncate(TENANTS);
    tenants
}

impl PhaseTimes {
    fn of(before: &Sample, now: &Sample, phase: &'static str) -> Self {
        let total = |sample: &Sample, name: &str| {
            let sums = sample.by(&format!("wardian_run_phase_seconds_{name}"), "phase");
            sums.get(phase).copied().unwrap_or_default()
        };
        let count = total(now, "count") - total(before, "count");
        let sum = total(now, "sum") - total(before, "sum");
        let mean = (count > 0.0).then(|| sum / count);
        let bound = |share: f64| mean.and(quantile(before, now, phase, share * count));
        Self { phase, mean, median: bound(0.5), p99: bound(0.99) }
    }
}

/// The bound of the first bucket that reaches `rank` runs.
fn quantile(before: &Sample, now: &Sample, phase: &str, rank: f64) -> Option<f64> {
    let buckets = |sample: &Sample| -> Vec<(f64, f64)> {
        let of_phase = sample.of("wardian_run_phase_seconds_bucket").iter();
        let of_phase =
            of_phase.filter(|(labels, _)| labels.get("phase").is_some_and(|p| p == phase));
        let bound = |text: &String| text.parse().unwrap_or(f64::INFINITY);
        of_phase.map(|(labels, count)| (labels.get("le").map_or(0.0, bound), *count)).collect()
    };
    let earlier = buckets(before);
    let mut later = buckets(now);
    later.sort_by(|one, other| one.0.total_cmp(&other.0));
    later.into_iter().find_map(|(bound, count)| {
        let was = earlier.iter().find(|(other, _)| other.total_cmp(&bound).is_eq());
        (count - was.map_or(0.0, |(_, count)| *count) >= rank).then_some(bound)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(runs: u32, slow: u32) -> Sample {
        let fast = runs - slow;
        Sample::read(&format!(
            "wardian_workers{{state=\"idle\"}} 1\nwardian_worker_slots 3\n\
             wardian_runs_total{{tenant=\"acme\",outcome=\"completed\"}} {fast}\n\
             wardian_runs_total{{tenant=\"acme\",outcome=\"timeout\"}} {slow}\n\
             wardian_runs_total{{tenant=\"idle\",outcome=\"completed\"}} 9\n\
             wardian_run_phase_seconds_sum{{phase=\"execute\"}} {}\n\
             wardian_run_phase_seconds_count{{phase=\"execute\"}} {runs}\n\
             wardian_run_phase_seconds_bucket{{le=\"0.001\",phase=\"execute\"}} {fast}\n\
             wardian_run_phase_seconds_bucket{{le=\"+Inf\",phase=\"execute\"}} {runs}\n",
            f64::from(fast) * 0.001 + f64::from(slow) * 10.0
        ))
    }

    #[test]
    fn a_view_shows_what_happened_in_between() {
        let (before, mut now) = (sample(100, 0), sample(200, 10));
        now.at = before.at + Duration::from_secs(2);
        let view = View::between(&before, &now);
        let text = view.text("http://x");
        for shown in
            ["1 idle of 3", "timeout 5.0", "completed 45.0", "1.00 ms      longer", "99 % within"]
        {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let acme = text.lines().find(|line| line.starts_with("acme")).unwrap();
        let rates: Vec<_> = acme.split_whitespace().skip(1).collect();
        assert_eq!(rates, ["45.0", "5.0", "0.0"]);
        assert!(text.lines().last().unwrap().starts_with("idle"), "{text}");
        // A server that was restarted.
        let again = View::between(&now, &sample(1, 0));
        assert!(again.runs.values().all(|rate| *rate >= 0.0));
    }
}
