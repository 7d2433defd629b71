//! The parameters of `run_code` that belong to cells of sessions.

use crate::protocol::methods::asking::{
    MAX_ANSWERS, MAX_TOOL_DESCRIPTION, MAX_TOOL_ERROR, MAX_TOOLS,
};
use crate::protocol::pattern::Pattern;
use crate::protocol::schema::{Fallback, Integer, Parameter, Shape, Text, Tool};
use wardian_vocabulary::ids::MAX_TOOL_NAME;

/// Longest id of a session or checkpoint, in characters: more than any real one.
const MAX_SESSION_ID: usize = 64;

/// Longest time that a call waits for its turn in a session, in milliseconds.
const MAX_SESSION_WAIT: u64 = 600_000;

pub(crate) const SESSION: Parameter = Parameter::optional(
    "session",
    Shape::TextOrObject(
        Text::up_to(MAX_SESSION_ID),
        &[
            Parameter::optional(
                "id",
                Shape::Text(Text::up_to(MAX_SESSION_ID)),
                "The session (omit or 'new' for a new one)",
            ),
            Parameter::optional(
                "if_checkpoint",
                Shape::Text(Text::up_to(MAX_SESSION_ID)),
                "Refuse the call unless the session is at this checkpoint",
            ),
            Parameter::optional(
                "keep",
                Shape::Flag,
                "false closes the session after this call (omit for true)",
            ),
            Parameter::optional(
                "wait_ms",
                Shape::Integer(Integer {
                    minimum: 0,
                    maximum: Some(MAX_SESSION_WAIT),
                    fallback: Fallback::None,
                }),
                "Time to wait while another call runs in the session (omit to be refused at once)",
            ),
        ],
    ),
    "Keep variables, files and imports between calls: 'new' begins a session, its id continues it",
);

const TOOL_NAME: Text = Text {
    max_length: Some(MAX_TOOL_NAME),
    pattern: Some(Pattern::ToolName),
    default: None,
    shows_default: false,
};

pub(crate) const CALLED_TOOLS: Parameter = Parameter::optional(
    "tools",
    Shape::ObjectList {
        members: &[
            Parameter::required("name", Shape::Text(TOOL_NAME), "Name of the tool"),
            Parameter::optional(
                "description",
                Shape::Text(Text::up_to(MAX_TOOL_DESCRIPTION)),
                "What the tool does",
            ),
            Parameter::optional("input_schema", Shape::AnyObject, "JSON Schema of its arguments"),
            Parameter::optional("output_schema", Shape::AnyObject, "JSON Schema of its output"),
        ],
        max_items: MAX_TOOLS,
    },
    "Tools of yours that code can call: `await tools.NAME(...)` returns status 'waiting' with requests",
);

const ANSWER_LIST: Shape = Shape::ObjectList {
    members: &[
        Parameter::required("id", Shape::Text(Text::up_to(MAX_SESSION_ID)), "Id of the request"),
        Parameter::optional(
            "output",
            Shape::Any,
            "Output of the tool, the line of text, or the decision about an approval",
        ),
        Parameter::optional(
            "error",
            Shape::Text(Text::up_to(MAX_TOOL_ERROR)),
            "Why there is no output",
        ),
    ],
    max_items: MAX_ANSWERS,
};

/// The body of a request that answers a run while its call goes on.
pub(crate) static RUN_ANSWERS: Tool = Tool {
    name: "POST /v1/runs/{id}/answers",
    description: "Answers requests of a run while its call goes on.",
    parameters: &[Parameter::required("answers", ANSWER_LIST, "Answers to some of its requests")],
};

pub(crate) const ANSWERS: Parameter = Parameter::optional(
    "answers",
    ANSWER_LIST,
    "Answers to all requests of a session that waits, which goes on then; leave code empty",
);

pub(crate) const ABANDON: Parameter = Parameter::optional(
    "abandon",
    Shape::Flag,
    "End the code that waits in the session, without its effects; leave code empty",
);
