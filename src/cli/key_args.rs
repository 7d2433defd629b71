//! The options of `wardian keys`.

use clap::Subcommand;

use crate::cli::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create an API key. It is shown only once.
    #[command(after_help = examples::CREATE_KEY)]
    Create {
        /// Tenant of the key's callers: 1 to 64 characters of a-z, 0-9 and inner dashes.
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// Display name of the key.
        #[arg(long, value_name = "NAME")]
        name: String,
        /// Scopes of the key, separated by commas: discover, execute, code, blobs, approve, publish, admin
        /// [default: discover,execute,code,blobs,approve].
        #[arg(long, value_name = "SCOPES")]
        scopes: Option<String>,
        /// Lifetime of the key, such as `90d` or `12h` [default: it never expires].
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Print the key and its description as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List all keys without their secrets.
    #[command(after_help = examples::LIST_KEYS)]
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke keys. A running server refuses them within a second.
    #[command(after_help = examples::REVOKE_KEY)]
    Revoke {
        /// Prefixes of the keys: the 8 characters after `wardian_`.
        #[arg(required = true, value_name = "PREFIX")]
        keys: Vec<String>,
    },
}
