//! Checks the rights of callers. No other code grants or refuses a right.

use crate::caller::Caller;
use crate::error::ServiceError;
use wardian_formats::protocol::MethodCall;
use wardian_stores::tenants::{Right, Rights};

/// Refuses a call that the caller has no right to make.
pub(super) fn ensure_may_call(caller: &Caller, call: &MethodCall) -> Result<(), ServiceError> {
    ensure_has(caller, right_for(call))
}

/// Refuses a caller that may not operate the server.
///
/// # Errors
///
/// [`ServiceError::Forbidden`].
pub fn ensure_may_operate(caller: &Caller) -> Result<(), ServiceError> {
    ensure_has(caller, Right::Admin)
}

/// Refuses a caller without `right`.
pub(super) fn ensure_has(caller: &Caller, right: Right) -> Result<(), ServiceError> {
    ensure_among(caller.rights, right)
}

/// Refuses what takes a right that is not among these.
pub(super) fn ensure_among(rights: Rights, right: Right) -> Result<(), ServiceError> {
    if rights.contains(right) {
        return Ok(());
    }
    Err(ServiceError::Forbidden { right: right.name() })
}

/// Returns the right that `call` needs.
const fn right_for(call: &MethodCall) -> Right {
    match call {
        MethodCall::ListSkills(_)
        | MethodCall::DescribeSkill(_)
        | MethodCall::ReadSkillFile(_)
        | MethodCall::LoadSkillsProtocolGuide(_)
        | MethodCall::Discover => Right::Discover,
        MethodCall::ExecuteSkill(_) => Right::Execute,
        MethodCall::RunCode(_) => Right::Code,
        MethodCall::CreateBlob(_) | MethodCall::ReadBlob(_) => Right::Blobs,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use wardian_vocabulary::error::ErrorKind;

    const RIGHTS: [Right; 7] = Right::ALL;

    fn caller(rights: Rights) -> Caller {
        Caller { rights, ..Caller::local("test") }
    }

    #[test]
    fn each_call_takes_one_right_and_no_other() {
        let calls = [
            ("list_skills", "{}", Right::Discover),
            ("describe_skill", r#"{"name": "a.b"}"#, Right::Discover),
            ("read_skill_file", r#"{"name": "a.b", "path": "SKILL.md"}"#, Right::Discover),
            ("load_skills_protocol_guide", "{}", Right::Discover),
            ("rpc.discover", "{}", Right::Discover),
            ("execute_skill", r#"{"name": "a.b", "args": {}}"#, Right::Execute),
            ("run_code", r#"{"language": "python", "code": "1"}"#, Right::Code),
            ("create_blob", r#"{"content": "x", "kind": "text/plain"}"#, Right::Blobs),
            ("read_blob", r#"{"blob_id": "x"}"#, Right::Blobs),
        ];
        for (method, params, needed) in calls {
            let params = RawValue::from_string(params.to_owned()).unwrap();
            let call = MethodCall::parse_with_discover(method, Some(&params)).unwrap();
            for right in RIGHTS {
                let only = caller(Rights::NONE.with(right));
                assert_eq!(ensure_may_call(&only, &call).is_ok(), right == needed, "{method}");
            }
            assert!(ensure_may_call(&caller(Rights::ALL), &call).is_ok());
        }
    }

    #[test]
    fn operating_the_server_takes_the_right_to_do_so() {
        for right in RIGHTS {
            let only = caller(Rights::NONE.with(right));
            assert_eq!(ensure_may_operate(&only).is_ok(), right == Right::Admin, "{right:?}");
        }
        assert!(ensure_may_operate(&caller(Rights::USUAL)).is_err());
    }

    #[test]
    fn a_refusal_names_the_missing_right() {
        let refused = ensure_has(&caller(Rights::NONE), Right::Execute).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        assert_eq!(refused.to_string(), "the caller lacks the scope `execute`");
    }
}
