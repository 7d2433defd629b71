//! The options of `wardian keys`.

use clap::Subcommand;

use crate::cli::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and print it, this once.
    #[command(after_help = examples::CREATE_KEY)]
    Create {
        /// Tenant that callers with the key act for: 1 to 64 of a-z, 0-9 and inner dashes.
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// Name of the key, for people.
        #[arg(long, value_name = "NAME")]
        name: String,
        /// What callers may do, separated by commas: discover, execute, code, blobs, admin
        /// [default: discover,execute,code,blobs].
        #[arg(long, value_name = "SCOPES")]
        scopes: Option<String>,
        /// Time after which the key is refused, such as `90d` or `12h` [default: never].
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Print the key and its description as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List all keys, without their secrets.
    #[command(after_help = examples::LIST_KEYS)]
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke keys. A running server refuses them within a second.
    #[command(after_help = examples::REVOKE_KEY)]
    Revoke {
        /// The keys' prefixes: the 8 letters behind `wardian_`.
        #[arg(required = true, value_name = "PREFIX")]
        keys: Vec<String>,
    },
}
