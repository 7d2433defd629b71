//! Which function executes which command about skills.

use crate::cli::commands::skills::args::SkillsCommand;
use crate::cli::commands::skills::{
    check_skills, deps, evals, list_skills, packages, publish, skills_lock, sources,
};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use wardian_config::{Config, Surroundings};
/// Executes a command about skills.
pub(crate) fn execute_skills(
    command: SkillsCommand,
    config: Config,
    surroundings: &Surroundings,
) -> Result<Exit, Failed> {
    match command {
        SkillsCommand::Check { folders, deny, json } => {
            check_skills::check_skills(config, &folders, deny, json)
        }
        SkillsCommand::Eval(args) => evals::evaluate(&config, &args),
        SkillsCommand::Lock { file, json } => skills_lock::lock_skills(&config, &file, json),
        SkillsCommand::Add(args) => sources::add(&config, &args, surroundings.source_token()),
        SkillsCommand::Update(args) => sources::update(&config, &args, surroundings.source_token()),
        SkillsCommand::Outdated(args) => {
            sources::outdated(&config, &args, surroundings.source_token())
        }
        SkillsCommand::Remove(args) => sources::remove(&config, &args),
        SkillsCommand::Deps(command) => deps::deps(&config, &command),
        SkillsCommand::List { namespace, tenant, json } => {
            list_skills::list(&config, namespace.as_deref(), tenant.as_deref(), json)
        }
        SkillsCommand::Show { skill, file, tenant, json } => {
            list_skills::show(&config, &skill, file.as_deref(), tenant.as_deref(), json)
        }
        SkillsCommand::Publish(args) => match &args.target {
            Some(target) => {
                let token = surroundings.source_token();
                packages::publish_package(&config, &args, target, token)
            }
            None => publish::publish(&args, surroundings.api_key()),
        },
        SkillsCommand::Sign(args) => packages::sign_skill(&args),
        SkillsCommand::Verify(args) => packages::verify_skills(&config, &args),
        SkillsCommand::Unpublish { skill, at } => {
            publish::unpublish(&skill, &at, surroundings.api_key())
        }
        // It was executed without the configuration.
        SkillsCommand::New { .. } => Ok(Exit::Done),
    }
}
