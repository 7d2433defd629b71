//! Where records are read: the database of the data folder, or a running server.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::assembly;
use crate::cli::commands::blobs::{Remote, remote_of};
use crate::cli::failed::Failed;
use crate::cli::run_args::RunOwner;
use crate::cli::server_option::ServerOption;
use wardian_config::Config;
use wardian_formats::job::outcome::LogChunk;
use wardian_formats::protocol::methods::execution::RunProgress;
use wardian_service::RunList;
use wardian_stores::database::DatabasePlace;
use wardian_stores::records::{
    ListedRuns, RecordTable, RunFilter, RunOutcomeKind, RunSearch, with_result,
};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{RunId, SkillName, TenantId};

/// Maximum number of runs of one page.
const PAGE: usize = 1_000;

/// Maximum number of tenants in which a run is looked for.
const SEARCHED_TENANTS: usize = 10_000;

/// The source of records.
pub(super) enum RecordSource {
    /// The database of the data folder, which a server may be using.
    Local(RecordTable, TenantId),
    /// A running server.
    Server(Remote, Whose),
}

/// The tenants whose runs are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// That of the key, or of the machine's user.
    Own,
    /// This one, which on a server takes the scope `admin`.
    One(TenantId),
    /// All of them. Only a server lists them together.
    All,
}

impl Whose {
    /// As the options of a command say.
    pub(super) fn of(tenant: Option<&str>, all: bool) -> Result<Self, Failed> {
        Ok(match tenant {
            _ if all => Self::All,
            Some(tenant) => Self::One(TenantId::parse(tenant)?),
            None => Self::Own,
        })
    }
}

/// The answer of a server to `GET /v1/caller`, as far as it is of interest.
#[derive(Deserialize)]
struct CallerOfServer {
    tenant: TenantId,
    scopes: Vec<String>,
}

/// The runs that are listed.
#[derive(Debug, Default)]
pub(super) struct RunChoice {
    pub(super) outcome: Option<RunOutcomeKind>,
    pub(super) skill: Option<SkillName>,
    pub(super) since_ms: Option<u64>,
    pub(super) search: Option<String>,
}

/// The member of the answer to `GET /v1/runs/{id}` that tells whether it is a record.
#[derive(Deserialize)]
struct RunStatusOnly {
    status: RunProgress,
}

/// The answer of a server to `GET /v1/runs/{id}/log?format=json`.
#[derive(Deserialize)]
struct Log {
    pieces: Vec<LogChunk>,
}

impl RecordSource {
    pub(super) async fn open(
        config: &Config,
        of: &RunOwner,
        api_key: Option<&str>,
    ) -> Result<Self, Failed> {
        let whose = Whose::of(of.tenant.as_deref(), false)?;
        Self::open_list(config, &of.at, whose, api_key).await
    }

    /// As [`Self::open`], also for the runs of other tenants of a server.
    pub(super) async fn open_list(
        config: &Config,
        at: &ServerOption,
        whose: Whose,
        api_key: Option<&str>,
    ) -> Result<Self, Failed> {
        if let Some(remote) = remote_of(at, api_key)? {
            return Ok(Self::Server(remote, whose));
        }
        let place = assembly::records_place(config);
        if let DatabasePlace::File(path) = place
            && !path.try_exists().unwrap_or(true)
        {
            return Err(Failed::usage(format!(
                "`{}` has no records of runs: give the data folder of a server with `--data-dir` \
                (`data_dir`), or a running server with `--server`",
                config.data_dir.display()
            )));
        }
        let table = assembly::open_records(config).await?;
        Ok(Self::Local(
            table,
            match whose {
                Whose::One(tenant) => tenant,
                Whose::Own | Whose::All => TenantId::local(),
            },
        ))
    }

    pub(super) async fn close(&self) {
        if let Self::Local(table, _) = self {
            table.close().await;
        }
    }

    /// True for a running server.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self, Self::Server(..))
    }

    /// The tenant whose records are read. A server knows it by the key.
    pub(super) fn tenant(&self) -> Result<TenantId, Failed> {
        match self {
            Self::Local(_, tenant) | Self::Server(_, Whose::One(tenant)) => Ok(tenant.clone()),
            Self::Server(remote, _) => Ok(remote.find_json::<CallerOfServer>("/v1/caller")?.tenant),
        }
    }

    /// Tenants with records, at most `limit`. A server names those of its newest runs, for keys with
    /// the scope `admin`; for others it names none.
    pub(super) async fn tenants(&self, limit: usize) -> Result<Vec<TenantId>, Failed> {
        match self {
            Self::Local(table, _) => Ok(table.tenants(limit).await?),
            Self::Server(remote, _) => {
                let caller: CallerOfServer = remote.find_json("/v1/caller")?;
                if !caller.scopes.iter().any(|scope| scope == Right::Admin.name()) {
                    return Ok(Vec::new());
                }
                let all = address(&RunChoice::default(), &Whose::All, None, PAGE);
                let page: RunList = remote.find_json(&all)?;
                let tenants: BTreeSet<String> =
                    page.runs.into_iter().filter_map(|run| run.tenant).collect();
                let tenants = tenants.iter().take(limit).map(|tenant| TenantId::parse(tenant));
                Ok(tenants.collect::<Result<_, _>>()?)
            }
        }
    }

    /// The same source with the records of `tenant`.
    pub(super) fn of_tenant(&self, tenant: &TenantId) -> Option<Self> {
        match self {
            Self::Local(table, _) => Some(Self::Local(table.clone(), tenant.clone())),
            Self::Server(..) => None,
        }
    }

    /// A page of the list, of at most `limit` runs.
    pub(super) async fn page(
        &self,
        choice: &RunChoice,
        cursor: Option<&RunId>,
        limit: usize,
    ) -> Result<ListedRuns, Failed> {
        let limit = limit.min(PAGE);
        match self {
            Self::Local(table, tenant) => {
                let (outcome, skill) = (choice.outcome, choice.skill.clone());
                let since_ms = choice.since_ms;
                let search = choice.search.as_deref().map(search_for).transpose()?;
                let filter = RunFilter { outcome, skill, since_ms, search, ..RunFilter::default() };
                let limit = u64::try_from(limit).unwrap_or(u64::MAX);
                Ok(table.list(tenant, &filter, cursor, limit).await?)
            }
            Self::Server(remote, whose) => {
                let page = remote.find_json(&address(choice, whose, cursor, limit));
                let page: RunList = page.map_err(|refused| match whose {
                    Whose::Own => with_hint(remote, refused),
                    Whose::One(_) | Whose::All => refused,
                })?;
                let next = page.next_cursor.map(|letters| RunId::parse(&format!("run_{letters}")));
                Ok(ListedRuns { runs: page.runs, next: next.transpose()? })
            }
        }
    }

    /// The record of a run, as JSON.
    pub(super) async fn record(&self, id: &RunId) -> Result<String, Failed> {
        match self {
            Self::Local(table, tenant) => {
                let record = table.find(tenant, None, id).await?;
                let Some(record) = record else { return Err(no_such_run(table, id).await) };
                Ok(with_result(&record, table.read_result(tenant, id).await?.as_deref()))
            }
            Self::Server(remote, _) => {
                let text = remote.find_text(&format!("/v1/runs/{id}"))?;
                let asked: RunStatusOnly = serde_json::from_str(&text)
                    .map_err(|fault| Failed::at("read the record", &fault))?;
                if asked.status == RunProgress::Ended {
                    return Ok(text);
                }
                Err(Failed::refused(format!(
                    "run `{id}` is in progress: its record is written when it ends, and `wardian \
                    runs wait` waits for that"
                )))
            }
        }
    }

    /// The document of a reproducible run.
    pub(super) async fn document(&self, id: &RunId) -> Result<String, Failed> {
        match self {
            Self::Local(table, tenant) => {
                if table.find(tenant, None, id).await?.is_none() {
                    return Err(no_such_run(table, id).await);
                }
                let document = table.read_document(tenant, id).await?;
                document.ok_or_else(|| {
                    Failed::usage(
                        "there is no document of this run: it was not reproducible, or the server \
                         did not keep it (`records.documents`)",
                    )
                })
            }
            Self::Server(remote, _) => remote.find_text(&format!("/v1/runs/{id}/record")),
        }
    }

    /// The log of a run.
    pub(super) async fn log(&self, id: &RunId) -> Result<Vec<LogChunk>, Failed> {
        match self {
            Self::Local(table, tenant) => {
                let found = table.find_log(tenant, None, id).await?;
                let Some(found) = found else { return Err(no_such_run(table, id).await) };
                let Some(text) = table.read_log(tenant, id).await? else {
                    return match found.bytes {
                        0 => Ok(Vec::new()),
                        _ => Err(Failed::usage("the log of this run is no longer kept")),
                    };
                };
                serde_json::from_str(&text).map_err(|fault| Failed::at("read the log", &fault))
            }
            Self::Server(remote, _) => {
                let log: Log = remote.find_json(&format!("/v1/runs/{id}/log?format=json"))?;
                Ok(log.pieces)
            }
        }
    }
}

fn search_for(text: &str) -> Result<RunSearch, Failed> {
    RunSearch::of(text).ok_or_else(|| {
        let (words, bytes) = (RunSearch::MAX_WORDS, RunSearch::MAX_LENGTH);
        Failed::usage(format!(
            "`--search` must be 1 to {words} words, of at most {bytes} bytes together"
        ))
    })
}

/// The refusal of a run that its tenant does not have. The reader of a data folder may know of all
/// tenants, so one that has the run is named.
async fn no_such_run(table: &RecordTable, id: &RunId) -> Failed {
    let missing = format!("there is no record of a run `{id}`");
    // Without the hint the refusal is true as well.
    for tenant in table.tenants(SEARCHED_TENANTS).await.unwrap_or_default() {
        if let Ok(Some(_)) = table.find_log(&tenant, None, id).await {
            return Failed::usage(format!(
                "{missing} of this tenant; it belongs to tenant `{tenant}`: `--tenant {tenant}`"
            ));
        }
    }
    Failed::usage(missing)
}

/// Says to a key that may list the runs of others, but has none of its own, how to list them.
fn with_hint(remote: &Remote, refused: Failed) -> Failed {
    let caller = remote.find_json::<CallerOfServer>("/v1/caller").ok();
    let has = |right: Right| {
        caller.as_ref().is_some_and(|caller| caller.scopes.iter().any(|one| one == right.name()))
    };
    if !has(Right::Admin) || has(Right::Execute) || has(Right::Code) {
        return refused;
    }
    Failed::usage(format!(
        "{refused}, so it has no runs of its own; its scope `admin` lists those of others: \
         `--all-tenants`, or `--tenant TENANT`"
    ))
}

/// The path of a page. All values but the search are letters that need no encoding.
fn address(choice: &RunChoice, whose: &Whose, cursor: Option<&RunId>, limit: usize) -> String {
    let mut path = format!("/v1/runs?limit={limit}");
    let mut add = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        write!(path, "&{name}={value}").ok();
    };
    match whose {
        Whose::Own => {}
        Whose::One(tenant) => add("tenant", tenant.as_str()),
        Whose::All => add("tenant", "*"),
    }
    if let Some(cursor) = cursor {
        add("cursor", cursor.as_str().trim_start_matches("run_"));
    }
    if let Some(outcome) = choice.outcome {
        add("outcome", outcome.name());
    }
    if let Some(skill) = &choice.skill {
        add("skill", skill.as_str());
    }
    if let Some(since) = choice.since_ms {
        add("since", &since.to_string());
    }
    if let Some(search) = &choice.search {
        let escaped: String = search.bytes().map(|byte| format!("%{byte:02X}")).collect();
        add("search", &escaped);
    }
    path
}
