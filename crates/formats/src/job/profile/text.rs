//! The text of a profile: compact JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::job::profile::{FuelProfile, ProfiledCall, ProfiledFunction};
use wardian_vocabulary::units::Fuel;

/// A profile as text. Nobody has looked at it yet: a compromised worker can write anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProfileText(Box<RawValue>);

impl PartialEq for ProfileText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A text that is not a profile.
#[derive(Debug, thiserror::Error)]
pub enum MalformedProfile {
    /// No JSON of the expected form.
    #[error("the profile cannot be read")]
    Form(#[from] serde_json::Error),
    /// Longer than any profile.
    #[error("the profile is too long")]
    TooLong,
    /// A call that stands before its caller, or names a function that does not exist.
    #[error("the profile's calls do not form a tree")]
    Structure,
}

/// The members of the text. A call is its caller, counted from 1 or 0 for none, its function, its
/// fuel, and its samples.
#[derive(Serialize, Deserialize)]
struct Form {
    interval: u64,
    functions: Vec<(String, String, u32)>,
    calls: Vec<(usize, usize, u64, u64)>,
}

impl ProfileText {
    /// The text of a profile.
    ///
    /// # Errors
    ///
    /// None that a profile could cause.
    pub fn of(profile: &FuelProfile) -> Result<Self, serde_json::Error> {
        let function = |one: &ProfiledFunction| (one.name.clone(), one.file.clone(), one.line);
        let caller = |call: &ProfiledCall| call.caller.map_or(0, |at| at.saturating_add(1));
        let call = |one: &ProfiledCall| (caller(one), one.function, one.fuel.0, one.samples);
        let form = Form {
            interval: profile.interval.0,
            functions: profile.functions.iter().map(function).collect(),
            calls: profile.calls.iter().map(call).collect(),
        };
        serde_json::value::to_raw_value(&form).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Changes the names in it, which may have values of secrets.
    ///
    /// # Errors
    ///
    /// The text is not a profile.
    pub fn with_names(&self, change: impl Fn(&mut String)) -> Result<Self, MalformedProfile> {
        let mut profile = self.read()?;
        for function in &mut profile.functions {
            change(&mut function.name);
            change(&mut function.file);
        }
        Ok(Self::of(&profile)?)
    }

    /// Reads the profile.
    ///
    /// # Errors
    ///
    /// The text is none.
    pub fn read(&self) -> Result<FuelProfile, MalformedProfile> {
        if self.as_str().len() > FuelProfile::MAX_TEXT {
            return Err(MalformedProfile::TooLong);
        }
        let Form { interval, functions, calls } = serde_json::from_str(self.as_str())?;
        let function = |(name, file, line)| ProfiledFunction { name, file, line };
        let functions: Vec<_> = functions.into_iter().map(function).collect();
        let call = |(at, (caller, function, fuel, samples)): (usize, (usize, usize, u64, u64))| {
            let is_whole = caller <= at && function < functions.len();
            let caller = caller.checked_sub(1);
            is_whole.then_some(ProfiledCall { caller, function, fuel: Fuel(fuel), samples })
        };
        let calls: Option<Vec<_>> = calls.into_iter().enumerate().map(call).collect();
        let calls = calls.ok_or(MalformedProfile::Structure)?;
        Ok(FuelProfile { interval: Fuel(interval), functions, calls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> ProfileText {
        ProfileText(RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let function = |name: &str, line| ProfiledFunction {
            name: name.to_owned(),
            file: "\"main\".py\\".to_owned(),
            line,
        };
        let call = |caller, function, fuel| ProfiledCall {
            caller,
            function,
            fuel: Fuel(fuel),
            samples: 1,
        };
        let profile = FuelProfile {
            interval: Fuel(100),
            functions: vec![function("<module>", 1), function("é.f", 7)],
            calls: vec![call(None, 0, 5), call(Some(0), 1, u64::MAX), call(Some(1), 1, 2)],
        };
        assert_eq!(ProfileText::of(&profile).unwrap().read().unwrap(), profile);
        assert_eq!(profile.fuel(), Fuel(u64::MAX), "no sum overflows");
    }

    #[test]
    fn texts_that_are_no_tree_of_calls_are_refused() {
        for wrong in [
            r#"{"interval":1,"functions":[],"calls":[[0,0,1,1]]}"#,
            r#"{"interval":1,"functions":[["f","",1]],"calls":[[1,0,1,1]]}"#,
            r#"{"interval":1,"functions":[["f","",1]],"calls":[[0,0,1,1],[3,0,1,1]]}"#,
        ] {
            let refused = text(wrong).read().unwrap_err();
            assert!(matches!(refused, MalformedProfile::Structure), "{wrong}: {refused}");
        }
        for wrong in ["{}", "[]", r#"{"interval":-1,"functions":[],"calls":[]}"#] {
            assert!(matches!(text(wrong).read(), Err(MalformedProfile::Form(_))), "{wrong}");
        }
        let long = format!("\"{}\"", "a".repeat(FuelProfile::MAX_TEXT));
        assert!(matches!(text(&long).read(), Err(MalformedProfile::TooLong)));
    }
}
