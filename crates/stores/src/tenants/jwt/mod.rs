//! Tokens of an identity provider (JWT): finds the tenant and the rights of a presented token.
//!
//! | part        | purpose                                                                |
//! | ----------- | ---------------------------------------------------------------------- |
//! | `config`    | what operators decide                                                  |
//! | `algorithm` | the signatures that can be allowed                                     |
//! | `members`   | the members of a JSON object, as slices of its text                    |
//! | `jws`       | the form of a token: its three parts, and its header                   |
//! | `claims`    | the checks of a token's claims                                         |
//! | `key_set`   | the provider's public keys (JWKS), and the check of a signature        |
//! | `source`    | the file or the address that the keys are read from                    |
//! | `keys`      | the keys in memory, and the thread that reads them again               |
//! | `verifier`  | one token from its bytes to its caller                                 |
//!
//! INVARIANT(only-signed-tokens): a token is trusted if one of the provider's keys has signed it with
//! an allowed algorithm that this key is for. The header of a token chooses among the keys that are
//! there; no key, address or certificate in it is used.
//!
//! INVARIANT(removed-keys-end-tokens): a token stops working when its key leaves the provider's set,
//! also if it was verified before.
//!
//! INVARIANT(no-tree-of-a-token): a token is bounded before it is decoded, and its parts stay text:
//! members are slices of it, and the few that count are read as the types that they must have.
//!
//! # Why
//!
//! The crate `jsonwebtoken` makes a tree of the header before anything is verified, ignores `crit`,
//! accepts duplicate members, and reads no clock but the system's; its cryptography is
//! another library of C, or thirty crates with an RSA that has an open advisory. `ring`, which does
//! TLS here, checks the signatures, and the rest is the reading of two small objects.

pub mod algorithm;
mod claims;
pub mod config;
pub mod fault;
mod jws;
pub mod key_set;
pub mod keys;
mod members;
pub mod source;
pub mod stamp;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
mod verified;
pub(crate) mod verifier;
