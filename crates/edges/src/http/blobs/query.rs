//! The query of a request: names and values, percent-decoded.

/// The parameters of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query that may have the parameters `known`, each once.
    pub(crate) fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, String> {
        let mut found: Vec<(String, String)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = known.iter().find(|known| **known == name) else {
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                return Err(match known.is_empty() {
                    true => "this path accepts no parameters".to_owned(),
                    false => format!("the parameters of this path are {}", known.join(", ")),
                });
            };
            if found.iter().any(|(other, _)| other == name) {
                return Err(format!("the parameter `{name}` may be given once"));
            }
            let value = decoded(value);
            let value = value.ok_or_else(|| format!("the parameter `{name}` is malformed"))?;
            found.push(((*name).to_owned(), value));
        }
        Ok(Self(found))
    }

    /// The value of a parameter.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Decodes `%41` and `+`; `None` if the bytes are no UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high.checked_mul(16)?.checked_add(low)?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Some("filename=a%20b+c%C3%A9%26.csv&limit=");
        let parameters = Parameters::parse(query, &["limit", "filename"]).unwrap();
        assert_eq!(parameters.find("filename"), Some("a b cé&.csv"));
        assert_eq!(parameters.find("limit"), Some(""));
        assert_eq!(parameters.find("cursor"), None);
        assert_eq!(Parameters::parse(None, &[]).unwrap(), Parameters::default());
    }

    #[test]
    fn mistakes_are_refused() {
        for query in ["a=1&a=2", "b=1", "a=%", "a=%4", "a=%zz", "a=%ff", "a=%+1", "A=1", "%61=1"] {
            assert!(Parameters::parse(Some(query), &["a"]).is_err(), "{query}");
        }
    }
}
