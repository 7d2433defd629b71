//! The settings `auth.*`: how callers are known.

use std::path::PathBuf;
use std::time::Duration;

use toml::Value as Toml;

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::settings::{AuthConfig, AuthMode};
use crate::value::SettingValue;
use wardian_stores::tenants::{ClaimPath, JwtConfig, KeyPlace, Rights, TokenAlgorithm};
use wardian_vocabulary::units::ByteCount;

/// The beginning of an address that keys may be fetched from.
const SCHEME: &str = "https://";

/// Reads how callers are known.
pub(crate) fn read_auth(reader: &mut Reader, surroundings: &Surroundings) -> AuthConfig {
    let mode = reader.read("auth.mode", AuthMode::Open);
    let needs_token = mode == AuthMode::Jwt;
    let place: Option<String> = reader.read_optional("auth.jwt.jwks");
    let authorities: Option<PathBuf> = reader.read_optional("auth.jwt.ca_file");
    let authorities = authorities.map(|path| surroundings.absolute(path));
    let issuer: Option<String> = reader.read_optional("auth.jwt.issuer");
    let audiences: Vec<String> = reader.read("auth.jwt.audiences", Vec::new());
    let tenant_claim = ClaimPath::parse("tenant").map(Claim);
    let tenant_claim = tenant_claim.map(|usual| reader.read("auth.jwt.tenant_claim", usual));
    let scopes_claim: Option<Claim> = reader.read_optional("auth.jwt.scopes_claim");
    let scope_prefix = reader.read("auth.jwt.scope_prefix", "wardian:".to_owned());
    let default_scopes: Option<Vec<String>> = reader.read_optional("auth.jwt.default_scopes");
    let default_rights = match &default_scopes {
        Some(names) => read_rights(reader, names),
        // A token that could name scopes and names none has none.
        None if scopes_claim.is_some() => Rights::NONE,
        None => Rights::USUAL,
    };
    let algorithms = reader.read("auth.jwt.algorithms", TokenAlgorithm::USUAL.to_vec());
    let bounds = read_bounds(reader);
    let accepts_keys = reader.read("auth.jwt.accept_keys", false);
    if bounds.max_stale < bounds.refresh {
        reader.complain("`auth.jwt.max_stale` must not be less than `auth.jwt.refresh`");
    }
    if algorithms.is_empty() {
        reader.complain("`auth.jwt.algorithms` must name an algorithm");
    }
    let place = place.and_then(|text| read_place(reader, text, authorities, surroundings));
    if !needs_token {
        return AuthConfig { mode, jwt: None };
    }
    for (key, is_missing, wanted) in [
        ("jwks", place.is_none(), "the file or HTTPS URL of the provider's keys"),
        ("issuer", issuer.is_none(), "the value of the `iss` claim"),
        ("audiences", audiences.is_empty(), "the `aud` claim of tokens for this server"),
    ] {
        if is_missing {
            reader.complain(format!("`auth.mode` is `jwt`, so set `auth.jwt.{key}`: {wanted}"));
        }
    }
    let jwt = place.zip(issuer).zip(tenant_claim).map(|((keys, issuer), Claim(tenant_claim))| {
        JwtConfig {
            keys,
            issuer,
            audiences,
            tenant_claim,
            scopes_claim: scopes_claim.map(|Claim(path)| path),
            scope_prefix,
            default_rights,
            algorithms,
            leeway: bounds.leeway,
            max_token: bounds.max_token.as_usize(),
            max_age: bounds.max_age,
            refresh: bounds.refresh,
            max_stale: bounds.max_stale,
            accepts_keys,
        }
    });
    AuthConfig { mode, jwt }
}

/// Times and sizes of tokens and of their keys.
struct Bounds {
    leeway: Duration,
    max_token: ByteCount,
    max_age: Option<Duration>,
    refresh: Duration,
    max_stale: Duration,
}

fn read_bounds(reader: &mut Reader) -> Bounds {
    let seconds = Duration::from_secs;
    let (five_minutes, day) = (Duration::from_mins(5), Duration::from_hours(24));
    let month = day.saturating_mul(31);
    let sizes = ByteCount::kibibytes(1)..=ByteCount::kibibytes(15);
    let leeways = Duration::ZERO..=five_minutes;
    Bounds {
        leeway: reader.read_within("auth.jwt.leeway", seconds(30), leeways),
        max_token: reader.read_within("auth.jwt.max_token", ByteCount::kibibytes(8), sizes),
        max_age: reader.read_optional_within("auth.jwt.max_age", seconds(1)..=month),
        refresh: reader.read_within("auth.jwt.refresh", five_minutes, seconds(10)..=day),
        max_stale: reader.read_within("auth.jwt.max_stale", day, seconds(60)..=month),
    }
}

/// Reads the names of the scopes of tokens that name none.
fn read_rights(reader: &mut Reader, names: &[String]) -> Rights {
    if names.is_empty() {
        return Rights::NONE;
    }
    Rights::parse(&names.join(",")).unwrap_or_else(|invalid| {
        reader.complain(format!("`auth.jwt.default_scopes`: {invalid}"));
        Rights::NONE
    })
}

fn read_place(
    reader: &mut Reader,
    text: String,
    authorities: Option<PathBuf>,
    surroundings: &Surroundings,
) -> Option<KeyPlace> {
    if text.starts_with(SCHEME) && text.len() > SCHEME.len() {
        let authority =
            text.get(SCHEME.len()..).and_then(|rest| rest.split(['/', '?', '#']).next());
        if authority.is_some_and(|authority| authority.contains('@')) {
            reader.complain("`auth.jwt.jwks` must be a URL without user and password");
            return None;
        }
        return Some(KeyPlace::Url { url: text, authorities });
    }
    if text.contains("://") || text.is_empty() {
        reader.complain("`auth.jwt.jwks` must be a file or an https:// URL");
        return None;
    }
    Some(KeyPlace::File(surroundings.absolute(PathBuf::from(text))))
}

/// The path to a claim.
#[derive(Debug, Clone)]
struct Claim(ClaimPath);

impl SettingValue for Claim {
    const EXPECTED: &'static str =
        "the name of a claim, or a JSON pointer such as \"/app/tenant\" of at most 8 names";

    fn from_text(text: &str) -> Option<Self> {
        ClaimPath::parse(text).map(Self)
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }

    fn to_toml(&self) -> Toml {
        let escaped = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        Toml::String(match self.0.names() {
            [name] if !name.starts_with('/') => name.clone(),
            names => names.iter().map(escaped).collect(),
        })
    }
}

impl SettingValue for Vec<TokenAlgorithm> {
    const EXPECTED: &'static str = "a list of asymmetric algorithms: RS256, RS384, RS512, PS256, \
        PS384, PS512, ES256, ES384, EdDSA";

    fn from_text(text: &str) -> Option<Self> {
        let names = Vec::<String>::from_text(text)?;
        names.iter().map(|name| TokenAlgorithm::parse(name)).collect()
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let names = Vec::<String>::from_toml(value)?;
        names.iter().map(|name| TokenAlgorithm::parse(name)).collect()
    }

    fn to_toml(&self) -> Toml {
        Toml::Array(self.iter().map(|one| Toml::String(one.name().to_owned())).collect())
    }
}

/// Any text.
impl SettingValue for String {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn to_toml(&self) -> Toml {
        Toml::String(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags};
    use wardian_dispatch::Isolation;

    fn load(file: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.toml");
        std::fs::write(&path, file).unwrap();
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            working_dir: Some("/here".into()),
            ..Surroundings::default()
        };
        Config::load(&surroundings, Flags { file: Some(path), settings: Vec::new() })
    }

    fn problems(file: &str) -> String {
        match load(file) {
            Err(ConfigError::Settings { problems }) => problems.join("\n"),
            other => panic!("{other:?}"),
        }
    }

    const LEAST: &str = "[auth]\nmode = \"jwt\"\n[auth.jwt]\njwks = \"keys.json\"\n\
        issuer = \"https://id.example\"\naudiences = [\"wardian\"]\n";

    #[test]
    fn three_settings_are_enough_for_tokens() {
        let config = load(LEAST).unwrap();
        let jwt = config.auth.jwt.as_ref().unwrap();
        assert_eq!(jwt.keys, KeyPlace::File("/here/keys.json".into()));
        assert_eq!(jwt.tenant_claim.names(), ["tenant"]);
        assert_eq!((jwt.default_rights, jwt.accepts_keys), (Rights::USUAL, false));
        assert_eq!((jwt.algorithms.len(), jwt.max_token), (8, 8 << 10));
        assert_eq!(config.isolation, Isolation::Process);
        assert!(config.requires_lockdown() && config.exposure().is_none());
        assert_eq!(load(&config.to_toml()).unwrap().auth.jwt, config.auth.jwt);
    }

    #[test]
    fn every_setting_of_tokens_is_read() {
        let more = "ca_file = \"ca.pem\"\ntenant_claim = \"/app/tenant~1id\"\n\
            scopes_claim = \"https://acme.example/scopes\"\nscope_prefix = \"\"\n\
            algorithms = [\"ES384\", \"Ed25519\"]\nleeway = \"0 s\"\nmax_token = \"2 KiB\"\n\
            max_age = \"1 h\"\nrefresh = \"1 min\"\nmax_stale = \"2 min\"\naccept_keys = true\n";
        let file = LEAST.replace("keys.json", "https://id.example/jwks") + more;
        let config = load(&file).unwrap();
        let jwt = config.auth.jwt.clone().unwrap();
        let url = "https://id.example/jwks".to_owned();
        assert_eq!(jwt.keys, KeyPlace::Url { url, authorities: Some("/here/ca.pem".into()) });
        assert_eq!(jwt.tenant_claim.names(), ["app", "tenant/id"]);
        assert_eq!(jwt.scopes_claim.unwrap().names(), ["https://acme.example/scopes"]);
        assert_eq!(jwt.algorithms, [TokenAlgorithm::Es384, TokenAlgorithm::EdDsa]);
        assert_eq!(jwt.default_rights, Rights::NONE, "a token that names no scope has none");
        assert_eq!((jwt.leeway, jwt.max_age), (Duration::ZERO, Some(Duration::from_hours(1))));
        assert!(jwt.accepts_keys && jwt.scope_prefix.is_empty());
        assert_eq!(load(&config.to_toml()).unwrap().auth.jwt, config.auth.jwt);
        let named = load(&(file + "default_scopes = [\"code\"]")).unwrap();
        assert_eq!(named.auth.jwt.unwrap().default_rights.names(), ["code"]);
    }

    #[test]
    fn settings_of_tokens_that_cannot_be_are_refused_with_one_line() {
        let missing = problems("[auth]\nmode = \"jwt\"");
        assert_eq!(missing.lines().count(), 3, "{missing}");
        for key in ["jwks", "issuer", "audiences"] {
            assert!(missing.contains(&format!("so set `auth.jwt.{key}`: ")), "{missing}");
        }
        for (line, expected) in [
            ("algorithms = [\"HS256\"]", "must be a list of asymmetric algorithms"),
            ("algorithms = [\"none\"]", "must be a list of asymmetric algorithms"),
            ("algorithms = []", "`auth.jwt.algorithms` must name an algorithm"),
            ("default_scopes = [\"all\"]", "`auth.jwt.default_scopes`: `all` is not a scope"),
            ("tenant_claim = \"\"", "must be the name of a claim"),
            ("tenant_claim = \"/a/b/c/d/e/f/g/h/i\"", "must be the name of a claim"),
            ("tenant_claim = \"/a~2\"", "must be the name of a claim"),
            ("leeway = \"1 h\"", "must be between \"0 ms\" and \"5 min\""),
            ("max_token = \"1 MiB\"", "must be between \"1 KiB\" and \"15 KiB\""),
            ("refresh = \"1 s\"", "must be between \"10 s\" and \"1 d\""),
            ("refresh = \"1 h\"\nmax_stale = \"1 min\"", "must not be less than"),
            (
                "tenant = \"acme\"",
                "`auth.jwt.tenant` is not a setting: did you mean `auth.jwt.tenant_claim`?",
            ),
        ] {
            let told = problems(&format!("{LEAST}{line}\n"));
            assert!(told.contains(expected) && told.lines().count() == 1, "{line}: {told}");
        }
        for place in ["http://id.example/jwks", "file:///etc/jwks", "https://", ""] {
            let told = problems(&LEAST.replace("keys.json", place));
            assert!(told.contains("must be a file or an https:// URL"), "{told}");
        }
        for place in ["https://user:word@id.example/jwks", "https://token@id.example"] {
            let told = problems(&LEAST.replace("keys.json", place));
            assert!(told.contains("without user and password"), "{told}");
            assert!(!told.contains("word@") && !told.contains("token@"), "{told}");
        }
        // Only the authority has users.
        load(&LEAST.replace("keys.json", "https://id.example/jwks?for=a@b")).unwrap();
    }
}
