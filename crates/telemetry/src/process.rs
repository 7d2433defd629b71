//! The standard metrics of a process, as Prometheus names them.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

use crate::source::{MetricReading, MetricSource, number_of};

/// This process.
#[derive(Debug)]
pub(super) struct ThisProcess;

impl MetricSource for ThisProcess {
    fn read(&self) -> Vec<MetricReading> {
        let mut readings = Vec::new();
        if let Some(Stat { ticks, threads, pages }) = stat() {
            let seconds = ticks / number_of(clock_ticks_per_second());
            let bytes = pages * number_of(u64::try_from(page_size()).unwrap_or(0));
            readings.extend([
                MetricReading::counter(
                    "process_cpu_seconds",
                    "Processor time of the gateway, without its workers",
                    seconds,
                ),
                MetricReading::gauge(
                    "process_resident_memory_bytes",
                    "Memory of the gateway, without its workers",
                    bytes,
                ),
                MetricReading::gauge("process_threads", "Threads of the gateway", threads),
            ]);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            let count = u64::try_from(entries.count()).unwrap_or(u64::MAX);
            readings.push(MetricReading::gauge(
                "process_open_fds",
                "Open descriptors of the gateway",
                number_of(count),
            ));
        }
        readings
    }
}

/// The used fields of `/proc/self/stat` (`proc_pid_stat(5)`).
struct Stat {
    ticks: f64,
    threads: f64,
    pages: f64,
}

fn stat() -> Option<Stat> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name of the program, which may hold spaces and brackets.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut next = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok().map(number_of);
    let (user, system) = (next(0)?, next(0)?);
    let threads = next(4)?;
    let pages = next(3)?;
    Some(Stat { ticks: user + system, threads, pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_this_process() {
        let readings = ThisProcess.read();
        let value =
            |name: &str| readings.iter().find(|reading| reading.name == name).unwrap().values[0].1;
        assert_eq!(readings.len(), 4);
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_matches(|letter: char| !letter.is_ascii_digit()).parse::<f64>().unwrap()
        };
        let resident = value("process_resident_memory_bytes") / 1_024.0;
        assert!((0.5..2.0).contains(&(resident / field("VmRSS:"))), "{resident}");
        assert!((value("process_threads") - field("Threads:")).abs() < 20.0);
        assert!(value("process_open_fds") >= 3.0 && value("process_cpu_seconds") >= 0.0);
    }
}
