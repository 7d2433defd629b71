//! The published vectors of Project Wycheproof for tokens, keys and signatures, and the list of
//! attacks of tools that test tokens.
//!
//! The vectors are data of others (`tests/fixtures/jwt/wycheproof.json` names origin and licence).

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tenants::jwt::algorithm::TokenAlgorithm;
use crate::tenants::jwt::jws::UncheckedToken;
use crate::tenants::jwt::key_set::KeySet;

const VECTORS: &str = include_str!("../../../../../tests/fixtures/jwt/wycheproof.json");

#[derive(Deserialize)]
struct Vectors {
    tokens: Vec<TokenGroup>,
    ed25519: Vec<SignatureGroup>,
    p256: Vec<SignatureGroup>,
}

#[derive(Deserialize)]
struct TokenGroup {
    file: String,
    name: String,
    keys: Value,
    /// Number, comment, token, and whether it is valid.
    tests: Vec<(u32, String, String, bool)>,
}

#[derive(Deserialize)]
struct SignatureGroup {
    key: String,
    /// Number, message, signature, and whether it is valid.
    tests: Vec<(u32, String, String, bool)>,
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    HEXLOWER.decode(hexadecimal.as_bytes()).unwrap()
}

/// True if one of the keys has signed the token, with an algorithm that can be allowed.
fn is_trusted(keys: &Value, token: &str) -> bool {
    let Ok(set) = KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()) else {
        return false;
    };
    let Ok(token) = UncheckedToken::parse(token.as_bytes(), &TokenAlgorithm::ALL) else {
        return false;
    };
    let key = set.find(token.key_id.as_deref(), token.algorithm);
    key.is_some_and(|key| key.has_signed(token.algorithm, token.signed, &token.signature))
}

/// The algorithm that a token names, whether it is supported or not.
fn algorithm_of(token: &str) -> Option<TokenAlgorithm> {
    let header = BASE64URL_NOPAD.decode(token.split('.').next()?.as_bytes()).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    TokenAlgorithm::parse(header["alg"].as_str()?)
}

#[test]
fn published_tokens_are_trusted_if_and_only_if_they_are_valid() {
    let (mut trusted, mut all) = (0, 0);
    for group in vectors().tokens {
        for (number, comment, token, is_valid) in group.tests {
            // Symmetric and unknown algorithms are not supported: nothing that they sign is trusted.
            // Nor is a token of another algorithm than its key is for.
            let names = |name: &str| {
                let mut keys = group.keys.as_array().unwrap().iter();
                keys.any(|key| key["alg"].as_str().is_none_or(|only| only == name))
            };
            let algorithm = algorithm_of(&token);
            let expected = is_valid && algorithm.is_some_and(|one| names(one.name()));
            let what = format!("{}, {}, {number}: {comment}", group.file, group.name);
            assert_eq!(is_trusted(&group.keys, &token), expected, "{what}");
            (trusted, all) = (trusted + usize::from(expected), all + 1);
        }
    }
    assert_eq!((trusted, all), (TRUSTED, 427), "vectors are missing");
}

/// The valid tokens among the vectors whose algorithms are supported.
const TRUSTED: usize = 33;

#[test]
fn published_signatures_hold_if_and_only_if_they_are_valid() {
    let vectors = vectors();
    let check = |group: &SignatureGroup, key: Value, algorithm: TokenAlgorithm| {
        let set = KeySet::parse(json!({ "keys": [key] }).to_string().as_bytes()).unwrap();
        let key = set.find(None, algorithm).unwrap();
        for (number, message, signature, is_valid) in &group.tests {
            let holds = key.has_signed(algorithm, &bytes(message), &bytes(signature));
            assert_eq!(holds, *is_valid, "{algorithm:?}, {number}");
        }
        group.tests.len()
    };
    let encoded = |part: &[u8]| BASE64URL_NOPAD.encode(part);
    let count = vectors.ed25519.iter().map(|group| {
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(&bytes(&group.key))});
        check(group, key, TokenAlgorithm::EdDsa)
    });
    assert_eq!(count.sum::<usize>(), 151);
    let count = vectors.p256.iter().map(|group| {
        let point = bytes(&group.key);
        let (x, y) = (encoded(&point[1..33]), encoded(&point[33..]));
        check(group, json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}), TokenAlgorithm::Es256)
    });
    assert_eq!(count.sum::<usize>(), 262);
}

/// Signatures of other forms: zeros, of the group's order, in DER, empty, cut.
fn signatures() -> Vec<String> {
    let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let mut one = [0; 64];
    (one[31], one[63]) = (1, 1);
    [
        vec![0; 64],
        one.to_vec(),
        vec![0xff; 64],
        [bytes(order), bytes(order)].concat(),
        [bytes(order), vec![0; 32]].concat(),
        vec![0x30, 6, 2, 1, 1, 2, 1, 1],
        vec![0; 63],
        vec![0; 65],
        Vec::new(),
    ]
    .map(|signature| BASE64URL_NOPAD.encode(&signature))
    .into()
}

/// What tools that test tokens do to a good one: each result must be refused.
#[test]
fn no_published_attack_makes_a_token_that_is_trusted() {
    let vectors = vectors();
    let group = vectors.tokens.iter().find(|group| group.name == "es256").unwrap();
    let good = &group.tests.iter().find(|(.., is_valid)| *is_valid).unwrap().2;
    assert!(is_trusted(&group.keys, good));
    let parts: Vec<&str> = good.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    let header: Value =
        serde_json::from_slice(&BASE64URL_NOPAD.decode(header.as_bytes()).unwrap()).unwrap();
    let encoded = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let with = |change: Value| {
        let mut header = header.clone();
        header.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        encoded(&header.to_string())
    };
    let mut attacks = Vec::new();
    for name in ["none", "None", "NONE", "nOnE", "", " none", "none ", "HS256", "hs256", "ES256K"] {
        let header = with(json!({"alg": name}));
        attacks.push(format!("{header}.{payload}."));
        attacks.push(format!("{header}.{payload}"));
        attacks.push(format!("{header}.{payload}.{signature}"));
    }
    // Keys, addresses and certificates that the token brings along; ids that are paths or queries.
    for change in [
        json!({"jwk": group.keys[0]}),
        json!({"jku": "https://attacker.example/keys.json"}),
        json!({"x5u": "https://attacker.example/cert.pem"}),
        json!({"x5c": ["AAAA"]}),
        json!({"kid": "../../../../dev/null"}),
        json!({"kid": "' UNION SELECT 'AAAA' --"}),
        json!({"kid": "|/usr/bin/id"}),
        json!({"kid": null}),
        json!({"kid": 0}),
        json!({"kid": ["a"]}),
        json!({"crit": ["exp"], "exp": 0}),
        json!({"b64": false, "crit": ["b64"]}),
        json!({"zip": "DEF"}),
        json!({"enc": "A128GCM"}),
        json!({"alg": ["ES256"]}),
        json!({"alg": null}),
        json!({"cty": "JWT"}),
    ] {
        attacks.push(format!("{}.{payload}.{signature}", with(change)));
    }
    let header = parts[0];
    attacks.extend(signatures().iter().map(|one| format!("{header}.{payload}.{one}")));
    attacks.extend([
        format!("{good}="),
        format!("{good}."),
        format!(".{good}"),
        format!("{good} "),
        format!(" {good}"),
        format!("{good}\n"),
        good.replace('.', ".."),
        good.replace('-', "+").replace('_', "/") + "+",
        format!("{header}.{}.{signature}", encoded("{\"sub\":\"admin\"}")),
        format!("{header}=.{payload}.{signature}"),
    ]);
    for attack in attacks {
        assert!(!is_trusted(&group.keys, &attack), "{attack:?}");
    }
}
