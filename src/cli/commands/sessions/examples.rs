//! The examples after the help of `wardian sessions`.

pub(super) const LIST_SESSIONS: &str = "\
Examples:
  wardian sessions list
  wardian sessions list --server http://127.0.0.1:8080 --json | jq -r '.[].id'";

pub(super) const SHOW_SESSION: &str = "\
Examples:
  wardian sessions show ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian sessions show ses_mrxhgylqovzxi4tfmqqgk3tdn4 --json | jq -r '.cells[].source'";

pub(super) const FORK_SESSION: &str = "\
Examples:
  wardian sessions fork ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian sessions fork ses_mrxhgylqovzxi4tfmqqgk3tdn4 --checkpoint loaded --count 3
  wardian repl --session $(wardian sessions fork ses_mrxhgylqovzxi4tfmqqgk3tdn4)";

pub(super) const RESTORE_SESSION: &str = "\
Examples:
  wardian sessions restore ses_mrxhgylqovzxi4tfmqqgk3tdn4 c2-9f2a61b0c4d5e6f7
  wardian sessions restore ses_mrxhgylqovzxi4tfmqqgk3tdn4 loaded

Later checkpoints stay for some time, so that you can go forward again.";

pub(super) const CLOSE_SESSION: &str = "\
Examples:
  wardian sessions close ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian sessions list --json | jq -r '.[].id' | xargs wardian sessions close";

pub(super) const SESSION_FILES: &str = "\
Examples:
  wardian sessions files ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian sessions files ses_mrxhgylqovzxi4tfmqqgk3tdn4 data --json | jq -r '.files[].path'";

pub(super) const GET_FILE: &str = "\
Examples:
  wardian sessions get ses_mrxhgylqovzxi4tfmqqgk3tdn4 out/report.pdf -o report.pdf
  wardian sessions get ses_mrxhgylqovzxi4tfmqqgk3tdn4 data.csv | head";

pub(super) const PUT_FILE: &str = "\
Examples:
  wardian sessions put ses_mrxhgylqovzxi4tfmqqgk3tdn4 sales.csv
  wardian sessions put ses_mrxhgylqovzxi4tfmqqgk3tdn4 sales.csv data/2026.csv --json
  gzip -d < sales.csv.gz | wardian sessions put ses_mrxhgylqovzxi4tfmqqgk3tdn4 - sales.csv

The change is a checkpoint of its own, so that `wardian sessions restore` takes it back.";

pub(super) const IMPORT: &str = "\
Examples:
  wardian sessions import analysis.ipynb
  wardian repl --session $(wardian sessions import analysis.ipynb --allow-errors)

Cells with the tag `skip-execution` are left out. The session stays if a cell fails.

Exit codes: 0 all cells were executed, 1 a cell failed or could not be executed.";

pub(super) const SESSION_RECORD: &str = "\
Examples:
  wardian sessions record ses_aaaaaaaaaaaaaaaaaaaaaaaaaa -o session.json
  wardian verify session.json

Only reproducible sessions have records. `wardian verify` executes the cells again and names the
first one that differs. See docs/reproducible.md.";

pub(super) const NOTEBOOK: &str = "\
Examples:
  wardian sessions notebook ses_mrxhgylqovzxi4tfmqqgk3tdn4 -o analysis.ipynb
  wardian sessions notebook ses_mrxhgylqovzxi4tfmqqgk3tdn4 | jq '.cells | length'";
