//! Tokens that are signed here, and what becomes of them.
#![expect(clippy::string_slice, reason = "tokens are ASCII")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tenants::jwt::algorithm::TokenAlgorithm;
use crate::tenants::jwt::config::{ClaimPath, JwtConfig, KeyPlace};
use crate::tenants::jwt::fault::TokenFault;
use crate::tenants::jwt::key_set::{KeySet, KeySetFault};
use crate::tenants::jwt::verifier::{RefusedToken, TokenVerifier};
use crate::tenants::{CallerIdentity, Rights, UnknownCaller};
use wardian_vocabulary::clock::Clock;

const NOW: u64 = 1_790_000_000;

const RSA_ONE: &str = include_str!("../../../../../tests/fixtures/jwt/rsa-one.pem");
const RSA_TWO: &str = include_str!("../../../../../tests/fixtures/jwt/rsa-two.pem");

/// A set with one weak key, and a token that this key has signed.
const WEAK: &str = include_str!("../../../../../tests/fixtures/jwt/weak.json");

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

/// A provider's key pairs: two of RSA, one of each other sort.
struct Provider {
    one: RsaKeyPair,
    two: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    random: SystemRandom,
}

fn rsa_pair(pem: &str) -> RsaKeyPair {
    let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    RsaKeyPair::from_pkcs8(&BASE64.decode(text.as_bytes()).unwrap()).unwrap()
}

fn rsa_key(pair: &RsaKeyPair, kid: &str) -> Value {
    let parts = rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
    json!({"kty": "RSA", "kid": kid, "n": encoded(&parts.n), "e": encoded(&parts.e)})
}

impl Provider {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| {
            let pair = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(algorithm, pair.as_ref(), &random).unwrap()
        };
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            one: rsa_pair(RSA_ONE),
            two: rsa_pair(RSA_TWO),
            p256: ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            random,
        }
    }

    /// The public keys. `two` is not among them.
    fn keys(&self) -> Vec<Value> {
        let point = |pair: &EcdsaKeyPair, curve: &str, length: usize, kid: &str| {
            let (x, y) = pair.public_key().as_ref()[1..].split_at(length);
            json!({"kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y), "kid": kid})
        };
        vec![
            rsa_key(&self.one, "one"),
            point(&self.p256, "P-256", 32, "p256"),
            point(&self.p384, "P-384", 48, "p384"),
            json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(self.ed.public_key()), "kid": "ed"}),
        ]
    }

    fn set(&self) -> String {
        json!({"keys": self.keys()}).to_string()
    }

    fn sign(&self, key: &str, message: &[u8]) -> Vec<u8> {
        let rsa = |pair: &RsaKeyPair, padding: &'static dyn ring::signature::RsaEncoding| {
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(padding, &self.random, message, &mut signature).unwrap();
            signature
        };
        match key {
            "one" => rsa(&self.one, &RSA_PKCS1_SHA256),
            "one-512" => rsa(&self.one, &RSA_PKCS1_SHA512),
            "one-pss" => rsa(&self.one, &RSA_PSS_SHA256),
            "two" => rsa(&self.two, &RSA_PKCS1_SHA256),
            "p256" => self.p256.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "p384" => self.p384.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "ed" => self.ed.sign(message).as_ref().to_vec(),
            _ => Vec::new(),
        }
    }

    /// A token with this header and these claims as they are, signed by this key.
    fn token(&self, key: &str, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        format!("{message}.{}", encoded(self.sign(key, message.as_bytes())))
    }

    /// A token of the key `one` with good claims, changed by `change`.
    fn with(&self, change: Value) -> String {
        self.token("one", r#"{"alg":"RS256","kid":"one"}"#, &claims(change).to_string())
    }
}

/// Good claims; members of `change` replace theirs, and `null` removes one.
fn claims(change: Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example", "aud": "wardian", "sub": "ada", "tenant": "acme",
        "iat": NOW, "exp": NOW + 300,
    });
    let Value::Object(change) = change else { panic!("{change} is no object") };
    for (name, value) in change {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(&name);
        } else {
            claims[name] = value;
        }
    }
    claims
}

/// A verifier that reads its keys from a file.
struct Place {
    folder: TempDir,
    config: JwtConfig,
}

impl Place {
    fn of(set: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { config: config(folder.path().join("keys.json")), folder };
        place.write(set);
        place
    }

    fn write(&self, set: &str) {
        std::fs::write(self.folder.path().join("keys.json"), set).unwrap();
    }

    fn verifier(&self) -> TokenVerifier {
        let clock = Clock::Fixed(Duration::from_secs(NOW));
        TokenVerifier::open(self.config.clone(), clock).unwrap()
    }
}

fn config(keys: PathBuf) -> JwtConfig {
    JwtConfig {
        keys: KeyPlace::File(keys),
        issuer: "https://id.example".to_owned(),
        audiences: vec!["wardian".to_owned(), "wardian-eu".to_owned()],
        tenant_claim: ClaimPath::parse("tenant").unwrap(),
        scopes_claim: None,
        scope_prefix: "wardian:".to_owned(),
        default_rights: Rights::USUAL,
        algorithms: TokenAlgorithm::ALL.to_vec(),
        leeway: Duration::from_secs(10),
        max_token: 8 << 10,
        max_age: None,
        refresh: Duration::from_mins(5),
        max_stale: Duration::from_hours(1),
        accepts_keys: false,
    }
}

#[expect(clippy::panic_in_result_fn, reason = "a test may panic; that is how it fails")]
fn identify(verifier: &TokenVerifier, token: &str) -> Result<CallerIdentity, TokenFault> {
    verifier.identify(token.as_bytes()).map_err(|refused| match refused {
        RefusedToken::Wrong(fault) => fault,
        RefusedToken::Unavailable => panic!("the keys are there"),
    })
}

#[test]
fn examples_of_the_standards_are_verified() {
    let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19\
        yb290Ijp0cnVlfQ";
    for (algorithm, key, header, claims, signature) in [
        // RFC 7515, A.2
        (
            TokenAlgorithm::Rs256,
            json!({"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}),
            "eyJhbGciOiJSUzI1NiJ9",
            claims,
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        // RFC 7515, A.3
        (
            TokenAlgorithm::Es256,
            json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}),
            "eyJhbGciOiJFUzI1NiJ9",
            claims,
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        // RFC 8037, A.4
        (
            TokenAlgorithm::EdDsa,
            json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
            "eyJhbGciOiJFZERTQSJ9",
            "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let set = KeySet::parse(json!({"keys": [key]}).to_string().as_bytes()).unwrap();
        let key = set.find(None, algorithm).unwrap();
        let message = format!("{header}.{claims}");
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
        assert!(key.has_signed(algorithm, message.as_bytes(), &signature), "{algorithm:?}");
        for other in TokenAlgorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            assert!(!key.has_signed(other, message.as_bytes(), &signature), "{other:?}");
        }
        let changed = format!("{message}A");
        assert!(!key.has_signed(algorithm, changed.as_bytes(), &signature));
    }
}

#[test]
fn a_token_names_its_tenant_its_subject_and_its_rights() {
    let provider = Provider::new();
    let mut place = Place::of(&provider.set());
    let verifier = place.verifier();
    for (key, algorithm) in [
        ("one", "RS256"),
        ("one-512", "RS512"),
        ("one-pss", "PS256"),
        ("p256", "ES256"),
        ("p384", "ES384"),
        ("ed", "EdDSA"),
        ("ed", "Ed25519"),
    ] {
        let kid = key.split('-').next().unwrap();
        let header = json!({"alg": algorithm, "kid": kid, "typ": "at+jwt"}).to_string();
        let token = provider.token(key, &header, &claims(json!({})).to_string());
        for _ in 0..2 {
            let found =
                identify(&verifier, &token).unwrap_or_else(|fault| panic!("{key}: {fault}"));
            assert_eq!((found.tenant.as_str(), found.rights), ("acme", Rights::USUAL));
            assert_eq!(found.credential.unwrap().name(), "token:ada");
        }
    }
    // Without an id, the only key for the algorithm.
    let token = provider.token("p256", r#"{"alg":"ES256"}"#, &claims(json!({})).to_string());
    assert!(identify(&verifier, &token).is_ok());
    for fine in [
        json!({"aud": ["other", "wardian-eu"]}),
        json!({"exp": 1_790_000_000.5, "nbf": NOW}),
        json!({"exp": NOW - 9, "iat": NOW + 10, "nbf": NOW + 10}),
        json!({"sub": null, "iat": null, "x": {"y": [1, {"z": null}]}}),
    ] {
        assert!(identify(&verifier, &provider.with(fine.clone())).is_ok(), "{fine}");
    }
    let nameless = identify(&verifier, &provider.with(json!({"sub": null}))).unwrap();
    assert_eq!(nameless.credential.unwrap().name(), "token");
    place.config.scopes_claim = ClaimPath::parse("/realm/scope~1s");
    place.config.tenant_claim = ClaimPath::parse("/realm/tenant").unwrap();
    place.config.default_rights = Rights::NONE;
    let verifier = place.verifier();
    for (scopes, expected) in [
        (json!("openid wardian:code wardian:blobs code admin"), &["code", "blobs"][..]),
        (json!(["wardian:execute", "profile"]), &["execute"]),
        (json!("wardian:Code wardian: wardian:all"), &[]),
        (json!(""), &[]),
        (json!([]), &[]),
    ] {
        let realm = json!({"realm": {"tenant": "beta", "scope/s": scopes}});
        let found = identify(&verifier, &provider.with(realm)).unwrap();
        assert_eq!((found.tenant.as_str(), found.rights.names()), ("beta", expected.to_vec()));
    }
    let without = identify(&verifier, &provider.with(json!({"realm": {"tenant": "b"}}))).unwrap();
    assert_eq!(without.rights, Rights::NONE);
    for (realm, fault) in [
        (json!({"tenant": "beta", "scope/s": 1}), TokenFault::MalformedClaim),
        (json!({"tenant": "beta", "scope/s": ["a", 1]}), TokenFault::MalformedClaim),
        (json!({}), TokenFault::MissingClaim),
        (json!("beta"), TokenFault::MalformedClaim),
    ] {
        let refused = identify(&verifier, &provider.with(json!({"realm": realm}))).unwrap_err();
        assert_eq!(refused, fault, "{realm}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line for each claim")]
fn claims_that_are_wrong_are_refused_with_their_reason() {
    let provider = Provider::new();
    let mut place = Place::of(&provider.set());
    let verifier = place.verifier();
    for (change, fault) in [
        (json!({"exp": NOW - 10}), TokenFault::Expired),
        (json!({"exp": 0}), TokenFault::Expired),
        (json!({"exp": null}), TokenFault::MissingClaim),
        (json!({"exp": "1890000000"}), TokenFault::MalformedClaim),
        (json!({"exp": -1}), TokenFault::MalformedClaim),
        (json!({"exp": 1e300}), TokenFault::MalformedClaim),
        (json!({"exp": 1_890_000_000_000_u64}), TokenFault::MalformedClaim),
        (json!({"exp": [NOW + 5]}), TokenFault::MalformedClaim),
        (json!({"exp": true}), TokenFault::MalformedClaim),
        (json!({"nbf": NOW + 11}), TokenFault::NotYetValid),
        (json!({"nbf": "now"}), TokenFault::MalformedClaim),
        (json!({"iat": NOW + 11}), TokenFault::IssuedInFuture),
        (json!({"iat": {}}), TokenFault::MalformedClaim),
        (json!({"iss": "https://id.example/"}), TokenFault::Issuer),
        (json!({"iss": "https://ID.example"}), TokenFault::Issuer),
        (json!({"iss": null}), TokenFault::MissingClaim),
        (json!({"iss": ["https://id.example"]}), TokenFault::MalformedClaim),
        (json!({"aud": "wardian2"}), TokenFault::Audience),
        (json!({"aud": ["other"]}), TokenFault::Audience),
        (json!({"aud": []}), TokenFault::Audience),
        (json!({"aud": null}), TokenFault::MissingClaim),
        (json!({"aud": {"wardian": 1}}), TokenFault::MalformedClaim),
        (json!({"aud": ["wardian", 1]}), TokenFault::MalformedClaim),
        (json!({"sub": 7}), TokenFault::MalformedClaim),
        (json!({"tenant": null}), TokenFault::MissingClaim),
        (json!({"tenant": ""}), TokenFault::Tenant),
        (json!({"tenant": "../acme"}), TokenFault::Tenant),
        (json!({"tenant": "Acme"}), TokenFault::Tenant),
        (json!({"tenant": "acme\u{0}"}), TokenFault::Tenant),
        (json!({"tenant": "acme "}), TokenFault::Tenant),
        (json!({"tenant": "а".repeat(4)}), TokenFault::Tenant),
        (json!({"tenant": "a".repeat(65)}), TokenFault::Tenant),
        (json!({"tenant": ["acme"]}), TokenFault::Tenant),
        (json!({"tenant": 7}), TokenFault::Tenant),
        (json!({"tenant": "local"}), TokenFault::Tenant),
    ] {
        let refused = identify(&verifier, &provider.with(change.clone()));
        assert_eq!(refused, Err(fault), "{change}");
    }
    let null_times = claims(json!({})).to_string().replace("{", "{\"nbf\":null,");
    let raw = |claims: &str| provider.token("one", r#"{"alg":"RS256","kid":"one"}"#, claims);
    let good = claims(json!({})).to_string();
    for (claims, fault) in [
        (null_times, TokenFault::MalformedClaim),
        (String::new(), TokenFault::Claims),
        ("null".to_owned(), TokenFault::Claims),
        ("[]".to_owned(), TokenFault::Claims),
        (format!("{good} x"), TokenFault::Claims),
        (good.replace('{', "{\"tenant\":\"beta\","), TokenFault::Claims),
        (good.replace('{', "{\"ten\\u0061nt\":\"beta\","), TokenFault::Claims),
        (good.replace('{', "{\"x\":1,\"x\":2,"), TokenFault::Claims),
        // A token within a token.
        (format!("\"{}\"", provider.with(json!({}))), TokenFault::Claims),
        (provider.with(json!({})), TokenFault::Claims),
    ] {
        assert_eq!(identify(&verifier, &raw(&claims)), Err(fault), "{claims}");
    }
    place.config.max_age = Some(Duration::from_secs(60));
    let verifier = place.verifier();
    for (issued, expected) in [
        (json!(NOW - 60), None),
        (json!(NOW - 70), Some(TokenFault::TooOld)),
        (Value::Null, Some(TokenFault::MissingClaim)),
    ] {
        let refused = identify(&verifier, &provider.with(json!({"iat": issued}))).err();
        assert_eq!(refused, expected, "{issued}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line for each header")]
fn only_signed_tokens_are_trusted_whatever_their_header_says() {
    let provider = Provider::new();
    let mut place = Place::of(&provider.set());
    place.config.algorithms.retain(|algorithm| *algorithm != TokenAlgorithm::Es384);
    let verifier = place.verifier();
    let good = claims(json!({})).to_string();
    let signed = |key: &str, header: &str| provider.token(key, header, &good);
    let public = provider.keys()[0].clone();
    let long = json!({"alg": "RS256", "kid": "k".repeat(257)}).to_string();
    let attackers = json!({"alg": "RS256", "jwk": rsa_key(&provider.two, "one"), "kid": "one"});
    let fetched = r#"{"alg":"RS256","kid":"one","jku":"https://evil.example/","x5u":"file:///x"}"#;
    for (key, header, fault) in [
        ("none", r#"{"alg":"none"}"#, TokenFault::Algorithm),
        ("none", r#"{"alg":"None","kid":"one"}"#, TokenFault::Algorithm),
        ("none", r#"{"alg":"RS256","kid":"one"}"#, TokenFault::Signature),
        ("one", r#"{"alg":"none","kid":"one"}"#, TokenFault::Algorithm),
        ("one", r#"{"alg":"HS256","kid":"one"}"#, TokenFault::Algorithm),
        ("one", r#"{"alg":"rs256","kid":"one"}"#, TokenFault::Algorithm),
        ("one", r#"{"alg":"RS1","kid":"one"}"#, TokenFault::Algorithm),
        ("one", r#"{"alg":"ES256K","kid":"one"}"#, TokenFault::Algorithm),
        ("p384", r#"{"alg":"ES384","kid":"p384"}"#, TokenFault::Algorithm),
        ("one", r#"{"alg":["RS256"],"kid":"one"}"#, TokenFault::Header),
        ("one", r#"{"kid":"one"}"#, TokenFault::Header),
        ("one", r#"{"alg":"RS256","alg":"none","kid":"one"}"#, TokenFault::Header),
        ("one", r#"{"alg":"RS256","kid":"one","x":1,"x":1}"#, TokenFault::Header),
        ("one", r#"{"alg":"RS256","kid":1}"#, TokenFault::Header),
        ("one", r#""RS256""#, TokenFault::Header),
        ("one", "", TokenFault::Header),
        ("one", r#"{"alg":"RS512","kid":"one"}"#, TokenFault::Signature),
        ("one", r#"{"alg":"PS256","kid":"one"}"#, TokenFault::Signature),
        ("one", r#"{"alg":"ES256","kid":"one"}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"ES256","kid":"p256"}"#, TokenFault::Signature),
        ("p256", r#"{"alg":"RS256","kid":"p256"}"#, TokenFault::UnknownKey),
        ("p256", r#"{"alg":"ES256","kid":"one"}"#, TokenFault::UnknownKey),
        ("two", r#"{"alg":"RS256","kid":"two"}"#, TokenFault::UnknownKey),
        ("two", r#"{"alg":"RS256","kid":"one"}"#, TokenFault::Signature),
        ("two", r#"{"alg":"RS256"}"#, TokenFault::Signature),
        ("one", r#"{"alg":"RS256","kid":""}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"../../etc/passwd"}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"/dev/null"}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"https://evil.example/k"}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"one' OR '1'='1"}"#, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"one\u0000"}"#, TokenFault::UnknownKey),
        ("one", &long, TokenFault::UnknownKey),
        ("one", r#"{"alg":"RS256","kid":"one","crit":["exp"]}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","crit":[]}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","crit":null}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","b64":false}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","zip":"DEF"}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","enc":"A128GCM"}"#, TokenFault::Extension),
        ("one", r#"{"alg":"RS256","kid":"one","cty":"JWT"}"#, TokenFault::Purpose),
        ("one", r#"{"alg":"RS256","kid":"one","typ":"logout+jwt"}"#, TokenFault::Purpose),
        ("one", r#"{"alg":"RS256","kid":"one","typ":"dpop+jwt"}"#, TokenFault::Purpose),
        ("two", &attackers.to_string(), TokenFault::Signature),
        ("two", fetched, TokenFault::Signature),
    ] {
        assert_eq!(identify(&verifier, &signed(key, header)), Err(fault), "{key} {header:.200}");
    }
    // The public key as the secret of an HMAC.
    let header = encoded(r#"{"alg":"HS256","kid":"one"}"#);
    let message = format!("{header}.{}", encoded(&good));
    let mac =
        wardian_vocabulary::crypto::hmac(&public.to_string().as_bytes()[..64], message.as_bytes());
    let confused = format!("{message}.{}", encoded(mac));
    assert_eq!(identify(&verifier, &confused), Err(TokenFault::Algorithm));
    // A weak key is not there, whatever it has signed.
    let weak: Value = serde_json::from_str(WEAK).unwrap();
    let token = weak["token"].as_str().unwrap();
    let mut keys = provider.keys();
    keys.push(weak["jwk"].clone());
    place.write(&json!({"keys": keys}).to_string());
    assert_eq!(identify(&place.verifier(), token), Err(TokenFault::UnknownKey));
}

#[test]
fn a_token_has_one_form_and_a_bounded_length() {
    let provider = Provider::new();
    let place = Place::of(&provider.set());
    let verifier = place.verifier();
    let good = provider.with(json!({}));
    assert!(identify(&verifier, &good).is_ok());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, claims) = message.split_once('.').unwrap();
    let flipped = format!("{message}.{}", encoded(vec![7; 256]));
    // 256 bytes are 342 letters, the last of which has four bits that count for nothing.
    let (last, rest) = (signature.chars().last().unwrap(), &signature[..341]);
    let other_end = if last == 'B' { 'R' } else { 'B' };
    for (wrong, fault) in [
        (String::new(), TokenFault::Missing),
        (".".to_owned(), TokenFault::Form),
        ("..".to_owned(), TokenFault::Header),
        ("a.b.c".to_owned(), TokenFault::Form),
        (message.to_owned(), TokenFault::Form),
        (format!("{good}."), TokenFault::Form),
        (format!("{good}.{signature}"), TokenFault::Form),
        (format!("{good}=="), TokenFault::Form),
        (format!("{header}==.{claims}.{signature}"), TokenFault::Form),
        (format!("{good} "), TokenFault::Form),
        (format!(" {good}"), TokenFault::Form),
        (format!("{good}\n"), TokenFault::Form),
        (format!("{message}.\n{signature}"), TokenFault::Form),
        (good.replace('.', "\u{ff0e}"), TokenFault::Form),
        (format!("{header}.{claims}=.{signature}"), TokenFault::Signature),
        (format!("{message}.+{}", &signature[1..]), TokenFault::Form),
        (format!("{message}.{rest}{other_end}"), TokenFault::Form),
        (format!("{message}."), TokenFault::Signature),
        (format!("{message}.{}", &signature[..340]), TokenFault::Signature),
        (flipped, TokenFault::Signature),
        (format!("{good},{good}"), TokenFault::Form),
        (provider.with(json!({"x": "a".repeat(8 << 10)})), TokenFault::TooLong),
        ("a".repeat(4 << 20), TokenFault::TooLong),
    ] {
        assert_eq!(identify(&verifier, &wrong), Err(fault), "{wrong:.80}");
    }
}

#[test]
fn no_tree_of_a_token_is_made_however_deep_it_is() {
    let provider = Provider::new();
    let place = Place::of(&provider.set());
    let verifier = place.verifier();
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    let good = claims(json!({})).to_string();
    let token = |text: &str| {
        let claims = good.replacen('{', &format!("{{{text},"), 1);
        provider.token("one", r#"{"alg":"RS256","kid":"one"}"#, &claims)
    };
    assert!(identify(&verifier, &token(&format!("\"x\":{deep}"))).is_ok());
    let many: Vec<String> = (0..700).map(|number| format!("\"{number}\":0")).collect();
    assert!(identify(&verifier, &token(&many.join(","))).is_ok());
    for name in ["aud", "exp", "sub", "tenant", "iss"] {
        let claims = claims(json!({name: null})).to_string();
        let claims = claims.replacen('{', &format!("{{\"{name}\":{deep},"), 1);
        let token = provider.token("one", r#"{"alg":"RS256","kid":"one"}"#, &claims);
        assert!(identify(&verifier, &token).is_err(), "{name}");
    }
    let header = format!("{{\"alg\":\"RS256\",\"kid\":\"one\",\"x\":{deep}}}");
    assert!(identify(&verifier, &provider.token("one", &header, &good)).is_ok());
}

#[test]
fn keys_that_cannot_be_used_are_left_out_with_the_reason() {
    let provider = Provider::new();
    let good = provider.keys();
    let weak: Value = serde_json::from_str(WEAK).unwrap();
    let with = |at: usize, change: Value| {
        let mut key = good[at].clone();
        for (name, value) in change.as_object().unwrap() {
            key[name] = value.clone();
        }
        key
    };
    for (key, reason) in [
        (json!({"kty": "oct", "k": "AAAA", "kid": "h"}), "key `h`: it is symmetric"),
        (weak["jwk"].clone(), "key `weak`: it is too weak: an RSA key needs at least 2048 bits"),
        (with(0, json!({"n": encoded(vec![255; 1_025])})), "it is too large"),
        (with(0, json!({"e": "AQ"})), "not an RSA key"),
        (with(0, json!({"e": "AQAA"})), "not an RSA key"),
        (with(0, json!({"n": "AAAA"})), "not numbers in base64url"),
        (with(0, json!({"n": "=="})), "not numbers in base64url"),
        (with(0, json!({"d": "AAAA"})), "it contains a private key"),
        (with(0, json!({"use": "enc"})), "it is not for signatures"),
        (with(0, json!({"key_ops": ["sign"]})), "it is not for verifying signatures"),
        (with(0, json!({"alg": "HS256"})), "its algorithm is not supported"),
        (with(0, json!({"alg": "ES256"})), "its algorithm is not for keys of its type"),
        (with(1, json!({"crv": "secp256k1"})), "its curve is not supported"),
        (with(1, json!({"crv": "P-384"})), "not a point on its curve"),
        (with(1, json!({"x": "AAAA"})), "not a point on its curve"),
        (with(3, json!({"x": "AAAA"})), "not 32 bytes"),
        (with(3, json!({"crv": "Ed448"})), "its curve is not supported"),
        (json!({"kty": "AKP", "kid": "pq"}), "its type is not supported"),
        (json!({"kid": "x"}), "it is not a JSON Web Key"),
        (json!(7), "key 1: it is not a JSON Web Key"),
    ] {
        let alone = json!({"keys": [key]}).to_string();
        let refused = KeySet::parse(alone.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(reason) && refused.contains("no usable key"), "{key}: {refused}");
        let beside = json!({"keys": [key, good[1]]}).to_string();
        assert_eq!(KeySet::parse(beside.as_bytes()).unwrap().len(), 1, "{key}");
    }
    let twice = json!({"keys": [good[0], rsa_key(&provider.two, "one"), good[1]]}).to_string();
    let twice = KeySet::parse(twice.as_bytes()).unwrap();
    assert_eq!((twice.len(), twice.unused.len()), (2, 1), "{:?}", twice.unused);
    let two = json!({"keys": [good[0], rsa_key(&provider.two, "two")]}).to_string();
    let two = KeySet::parse(two.as_bytes()).unwrap();
    assert!(two.find(None, TokenAlgorithm::Rs256).is_none(), "which of the two is not said");
    let many = json!({"keys": vec![good[0].clone(); 101]}).to_string();
    for (text, fault) in [
        ("", KeySetFault::Form),
        ("<html>", KeySetFault::Form),
        ("{}", KeySetFault::Form),
        ("[]", KeySetFault::Form),
        ("{\"keys\":{}}", KeySetFault::Form),
        ("{\"keys\":[],\"keys\":[]}", KeySetFault::Form),
        ("{\"keys\":[]}", KeySetFault::Unusable(Vec::new())),
        (many.as_str(), KeySetFault::TooMany),
        (" ".repeat(257 << 10).as_str(), KeySetFault::TooLarge),
    ] {
        assert_eq!(KeySet::parse(text.as_bytes()).unwrap_err(), fault, "{text:.80}");
    }
}

#[test]
fn removed_keys_end_tokens_that_were_verified_before() {
    let provider = Provider::new();
    let place = Place::of(&provider.set());
    let verifier = place.verifier();
    let (one, edwards) = (provider.with(json!({})), {
        let header = r#"{"alg":"EdDSA","kid":"ed"}"#;
        provider.token("ed", header, &claims(json!({})).to_string())
    });
    let identity = identify(&verifier, &one).unwrap();
    let stamp = match identity.credential.unwrap() {
        crate::tenants::CallerCredential::Token(stamp) => stamp,
        crate::tenants::CallerCredential::Key(_) => panic!("a key"),
    };
    assert!(verifier.confirm(&stamp).is_ok() && identify(&verifier, &edwards).is_ok());
    verifier.keys().follow().unwrap();
    let becomes = |token: &str, is_known: bool| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while identify(&verifier, token).is_ok() != is_known {
            assert!(Instant::now() < deadline, "it is never noticed");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    };
    // The set without `one`, with another key of that name.
    let mut keys = provider.keys();
    keys[0] = rsa_key(&provider.two, "one");
    place.write(&json!({"keys": keys}).to_string());
    becomes(&one, false);
    assert_eq!(verifier.confirm(&stamp), Err(UnknownCaller::InvalidToken));
    assert!(identify(&verifier, &edwards).is_ok());
    let new =
        provider.token("two", r#"{"alg":"RS256","kid":"one"}"#, &claims(json!({})).to_string());
    assert!(identify(&verifier, &new).is_ok());
    // A set that is broken changes nothing and is counted.
    let failed = verifier.keys().report().failed;
    place.write("{");
    while verifier.keys().report().failed == failed {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(identify(&verifier, &new).is_ok());
    // A set without a key that can be used withdraws all keys, as the provider does in an emergency.
    for without in ["{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"h\",\"k\":\"AAAA\"}]}"]
    {
        place.write(&provider.set());
        becomes(&one, true);
        place.write(without);
        becomes(&one, false);
        assert_eq!(verifier.keys().report().keys, 0);
    }
    place.write(&provider.set());
    becomes(&one, true);
    verifier.keys().stop();
}

#[test]
fn keys_that_could_not_be_read_for_too_long_are_not_trusted() {
    let provider = Provider::new();
    let mut place = Place::of(&provider.set());
    place.config.max_stale = Duration::ZERO;
    let verifier = place.verifier();
    let refused = verifier.identify(provider.with(json!({})).as_bytes());
    assert_eq!(refused, Err(RefusedToken::Unavailable));
    assert_eq!(verifier.identify(b""), Err(RefusedToken::Unavailable));
}

#[test]
fn a_file_without_usable_keys_is_refused_with_one_line() {
    let place = Place::of("{\"keys\":[{\"kty\":\"oct\",\"kid\":\"h\",\"k\":\"AAAA\"}]}");
    let open = || {
        let opened = TokenVerifier::open(place.config.clone(), Clock::System);
        wardian_vocabulary::error::CauseChain(&opened.unwrap_err()).to_string()
    };
    let told = open();
    assert!(told.contains("key `h`: it is symmetric") && told.lines().count() == 1, "{told}");
    place.write("not JSON");
    assert!(open().contains("it is not a JSON Web Key Set"), "{}", open());
    std::fs::remove_file(place.folder.path().join("keys.json")).unwrap();
    assert!(open().contains("cannot read `"), "{}", open());
    std::fs::create_dir(place.folder.path().join("keys.json")).unwrap();
    assert!(open().contains("cannot read `"), "{}", open());
}
