//! The metrics of a server at one moment, read from the text format of `OpenMetrics`.

use std::collections::BTreeMap;
use std::time::Instant;

/// The labels of a value.
pub(super) type Labels = BTreeMap<String, String>;

/// All values at one moment.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    values: BTreeMap<String, Vec<(Labels, f64)>>,
}

impl Sample {
    /// Reads metrics. Lines that are not understood are left out.
    pub(super) fn read(text: &str) -> Self {
        let mut values: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse() else { continue };
            let (name, labels) = match series.split_once('{') {
                Some((name, labels)) => (name, labels_in(labels)),
                None => (series, Labels::new()),
            };
            values.entry(name.to_owned()).or_default().push((labels, value));
        }
        Self { at: Instant::now(), values }
    }

    /// The values of a metric, each with its labels.
    pub(super) fn of(&self, name: &str) -> &[(Labels, f64)] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a metric without labels.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.of(name).first().map(|(_, value)| *value)
    }

    /// The sum of the values of a metric, by one of its labels.
    pub(super) fn by(&self, name: &str, label: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for (labels, value) in self.of(name) {
            let label = labels.get(label).cloned().unwrap_or_default();
            *sums.entry(label).or_insert(0.0) += value;
        }
        sums
    }
}

/// Labels up to their closing bracket: `a="b",c="d"}`.
fn labels_in(text: &str) -> Labels {
    let mut labels = Labels::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut letters = after.char_indices();
        let mut end = after.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = at.saturating_add(1);
                    break;
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, escaped)) => value.push(escaped),
                    None => {}
                },
                letter => value.push(letter),
            }
        }
        labels.insert(name.trim_start_matches(',').to_owned(), value);
        rest = after.get(end..).unwrap_or_default();
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_with_their_labels() {
        let sample = Sample::read(
            "# TYPE a counter\na_total{x=\"1\",y=\"p q\"} 2\na_total{x=\"2\",y=\"p q\"} 3.5\n\
             a_total{x=\"}\\\"\\n\",y=\"\"} 1\nb 7\nnot a number\nc{x=\"open\n# EOF\n",
        );
        assert_eq!(sample.value("b"), Some(7.0));
        assert_eq!(sample.by("a_total", "y")["p q"].to_string(), "5.5");
        assert_eq!(sample.of("a_total")[2].0["x"], "}\"\n");
        assert!(sample.of("c").is_empty() && sample.value("d").is_none());
    }
}
