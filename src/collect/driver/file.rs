//! The driver file: commands that make the implementation act.

pub(super) mod error;
mod outputs;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf, absolute},
    time::Duration,
};

pub use error::{DriverFileError, DriverFileFlaw, HookFlaw};
use evidence::{
    ConsumerSpec, DriverAction, LARGEST_TEXT, Reads, agent_program,
    api::syntax::{is_dns_subdomain, is_label_value},
    read_text,
    user_file::UserFileError,
};
use schemars::Schema;

use super::{
    hooks::PREFIX,
    plan::{MOST_MEMBERS, OwnMember, PATIENCE, Patience, Scale},
};
use crate::{
    plugins::{NoProgram, find_program},
    testbed::OutputPlace,
};

/// How long a hook may take, where the file does not say.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The versions of the plugin's protocol.
const EXEC_API_VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

/// What a driver file says, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverFile {
    /// Where it is: absolute.
    pub path: PathBuf,
    /// The commands by what they have the implementation do.
    pub hooks: BTreeMap<DriverAction, Hook>,
    /// Which members there are.
    pub members: Members,
    /// The version that members are upgraded to which are no stand-ins.
    pub upgrade_to: Option<String>,
    /// The namespace that the run may create and delete.
    pub own_namespace: Option<String>,
    /// How long the implementation may take to answer.
    pub patience: Patience,
    /// The scale scenario, where there is to be one.
    pub scale: Option<Scale>,
    /// The consumer, where there is one to be judged.
    pub consumer: Option<ConsumerFile>,
}

/// What the file says of a consumer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerFile {
    /// What it claims.
    pub claims: ConsumerSpec,
    /// Its programs, where other programs use its user, too.
    pub agents: Vec<String>,
    /// A namespace whose profiles it does not read.
    pub unselected: Option<String>,
    /// Where it makes something of profiles.
    pub outputs: Vec<OutputPlace>,
    /// Where its plugin looks for the run: absolute.
    pub recorder: PathBuf,
    /// Where its log is: absolute.
    pub logs: Vec<PathBuf>,
}

/// A command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hook {
    /// The program: absolute, or a bare name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What is added to its environment.
    pub environment: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Which members there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Members {
    /// Stand-ins that the run offers.
    #[default]
    StandIns,
    /// Those that the join hook makes.
    Made,
    /// The implementer's own.
    Own(Vec<OwnMember>),
}

impl DriverFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or cannot be what is wanted; says where, and what to do.
    pub fn read(path: &Path) -> Result<Self, DriverFileError> {
        let unread = |source| DriverFileError::Read {
            path: path.to_owned(),
            source,
        };
        let text = read_text(path, LARGEST_TEXT).map_err(unread)?;
        let path = absolute(path).map_err(unread)?;
        Self::parse(&text, path.clone()).map_err(|flaw| DriverFileError::Wrong {
            path,
            source: Box::new(flaw),
        })
    }

    /// The JSON Schema of such a file.
    pub fn schema() -> Schema {
        evidence::json_schema::read::<text::Text>()
    }

    /// The folder that it is in, from which its hooks run.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Finds the programs of the hooks, without running any. Returns those that are missing, or may not be run.
    pub fn missing_programs(&self) -> BTreeMap<DriverAction, NoProgram> {
        let missing = |(action, hook): (&DriverAction, &Hook)| {
            let flaw = find_program(&hook.program, self.folder()).err()?;
            Some((*action, flaw))
        };
        self.hooks.iter().filter_map(missing).collect()
    }

    fn parse(text: &str, path: PathBuf) -> Result<Self, DriverFileFlaw> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let text: text::Text = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| UserFileError::new(&error, "action"))?;
        check_together(&text)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let mut hooks = BTreeMap::new();
        for (action, hook) in text.hooks.each() {
            let hook =
                self::hook(hook, &text, folder).map_err(|source| DriverFileFlaw::Hook { action, source })?;
            hooks.insert(action, hook);
        }
        let members = members(&text, folder)?;
        let scale = scale(&text, &members)?;
        let consumer = text
            .consumer
            .map(|consumer| self::consumer(consumer, folder))
            .transpose()?;
        Ok(Self {
            hooks,
            members,
            scale,
            consumer,
            upgrade_to: text.upgrade_to,
            own_namespace: text.own_namespace,
            patience: Patience {
                usual: text.patience.usual.map_or(PATIENCE, |span| span.0),
                to: text
                    .patience
                    .to
                    .into_iter()
                    .map(|(action, span)| (action, span.0))
                    .collect(),
            },
            path,
        })
    }
}

impl text::Hooks {
    fn each(&self) -> impl Iterator<Item = (DriverAction, &text::Hook)> {
        let hooks = [
            (DriverAction::Join, &self.join),
            (DriverAction::Leave, &self.leave),
            (DriverAction::Break, &self.break_down),
            (DriverAction::Heal, &self.heal),
            (DriverAction::Upgrade, &self.upgrade),
            (DriverAction::Restart, &self.restart),
            (DriverAction::Disconnect, &self.disconnect),
            (DriverAction::Reconnect, &self.reconnect),
            (DriverAction::Place, &self.place),
            (DriverAction::Reschedule, &self.reschedule),
            (DriverAction::Unplace, &self.unplace),
            (DriverAction::Work, &self.work),
            (DriverAction::Stop, &self.stop),
            (DriverAction::Start, &self.start),
            (DriverAction::Uninstall, &self.uninstall),
        ];
        hooks
            .into_iter()
            .filter_map(|(action, hook)| Some((action, hook.as_ref()?)))
    }
}

/// What each part says is right, and the whole still cannot be.
fn check_together(text: &text::Text) -> Result<(), DriverFileFlaw> {
    let hooks = &text.hooks;
    if hooks.each().next().is_none() && text.consumer.is_none() {
        return Err(DriverFileFlaw::NoHook);
    }
    if hooks.join.is_some() != hooks.leave.is_some() {
        return Err(DriverFileFlaw::JoinAndLeave);
    }
    if hooks.break_down.is_some() != hooks.heal.is_some() {
        return Err(DriverFileFlaw::BreakAndHeal);
    }
    if hooks.disconnect.is_some() != hooks.reconnect.is_some() {
        return Err(DriverFileFlaw::DisconnectAndReconnect);
    }
    if hooks.stop.is_some() != hooks.start.is_some() {
        return Err(DriverFileFlaw::StopAndStart);
    }
    if hooks.place.is_some() != hooks.unplace.is_some() {
        return Err(DriverFileFlaw::PlaceAndUnplace);
    }
    if hooks.reschedule.is_some() && hooks.place.is_none() {
        return Err(DriverFileFlaw::RescheduleWithoutPlace);
    }
    if text.stand_ins == Some(true) && !text.members.is_empty() {
        return Err(DriverFileFlaw::StandInsBesideMembers);
    }
    let stand_ins = text.stand_ins.unwrap_or(text.members.is_empty());
    let on_members = hooks.break_down.is_some() || hooks.upgrade.is_some();
    if stand_ins && (on_members || text.upgrade_to.is_some()) {
        return Err(DriverFileFlaw::HooksForStandIns);
    }
    if hooks.upgrade.is_some() != text.upgrade_to.is_some() {
        return Err(DriverFileFlaw::UpgradeAndVersion);
    }
    Ok(())
}

fn hook(hook: &text::Hook, text: &text::Text, folder: &Path) -> Result<Hook, HookFlaw> {
    let Some((program, arguments)) = hook.command.split_first() else {
        return Err(HookFlaw::NoWords);
    };
    let mut environment = text.env.clone();
    environment.extend(hook.env.clone());
    let unfit = |name: &&String| name.is_empty() || name.starts_with(PREFIX) || name.contains(['=', '\0']);
    if let Some(name) = environment.keys().find(unfit) {
        return Err(HookFlaw::Environment(name.clone()));
    }
    let program = if program.contains('/') {
        let path = folder.join(program);
        if !path.is_file() {
            return Err(HookFlaw::NoProgram(path));
        }
        path
    } else {
        PathBuf::from(program)
    };
    Ok(Hook {
        program,
        arguments: arguments.to_vec(),
        environment,
        timeout: hook.timeout.or(text.timeout).map_or(TIMEOUT, |span| span.0),
    })
}

fn consumer(consumer: text::Consumer, folder: &Path) -> Result<ConsumerFile, DriverFileFlaw> {
    if consumer.providers.is_empty() {
        return Err(DriverFileFlaw::NoProvider);
    }
    if consumer.namespaces.is_empty() {
        return Err(DriverFileFlaw::NoNamespace);
    }
    if let Some(namespace) = &consumer.unselected
        && consumer.namespaces.contains(namespace)
    {
        return Err(DriverFileFlaw::SelectedAndNot(namespace.clone()));
    }
    if let Some((key, _)) = consumer.labels.iter().find(|(key, value)| !is_label(key, value)) {
        return Err(DriverFileFlaw::Label(key.clone()));
    }
    if let Some(version) = &consumer.exec_api_version
        && !EXEC_API_VERSIONS.contains(&&**version)
    {
        return Err(DriverFileFlaw::ExecApiVersion(version.clone()));
    }
    let reads_placements = consumer.reads.contains(&Reads::Placements);
    if let Some(key) = &consumer.decision
        && !(reads_placements && is_decision_key(key))
    {
        return Err(DriverFileFlaw::Decision(key.clone()));
    }
    for agent in &consumer.agents {
        agent_program(agent).map_err(DriverFileFlaw::Agent)?;
    }
    Ok(ConsumerFile {
        agents: consumer.agents,
        claims: ConsumerSpec {
            user: consumer.user.unwrap_or_default(),
            namespaces: consumer.namespaces,
            labels: consumer.labels,
            reads: consumer.reads,
            decision: consumer.decision,
            providers: consumer.providers,
            exec_api_version: consumer.exec_api_version,
            fallback: consumer.fallback,
            profile_args: consumer.profile_args,
            profile_envs: consumer.profile_envs,
            one_shot: consumer.one_shot,
            actions_conflict: consumer.actions_conflict,
            gates_on_health: consumer.gates_on_health,
            rolls_out: consumer.rolls_out,
            outputs: BTreeSet::new(),
        },
        outputs: outputs::places(consumer.outputs, folder)?,
        unselected: consumer.unselected,
        recorder: folder.join(consumer.recorder),
        logs: consumer.logs.iter().map(|log| folder.join(log)).collect(),
    })
}

/// Whether the API server accepts a label.
fn is_label(key: &str, value: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let has_prefix = key.contains('/');
    !name.is_empty()
        && is_label_value(name)
        && is_label_value(value)
        && (!has_prefix || is_dns_subdomain(prefix))
}

/// Whether slices can be named after a key and their index, and labelled by it.
fn is_decision_key(key: &str) -> bool {
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    let is_bare = |sign: char| sign != '-';
    // The longest label, without what similar decisions have besides.
    (1..=59).contains(&key.len())
        && key.chars().all(fits)
        && key.starts_with(is_bare)
        && key.ends_with(is_bare)
}

fn members(text: &text::Text, folder: &Path) -> Result<Members, DriverFileFlaw> {
    if text.members.is_empty() {
        return Ok(match text.stand_ins {
            Some(false) => Members::Made,
            _ => Members::StandIns,
        });
    }
    let mut names = BTreeSet::new();
    let mut own = Vec::new();
    for member in &text.members {
        if member.name.is_empty() || member.name.contains('\0') || !names.insert(&member.name) {
            return Err(DriverFileFlaw::MemberName(member.name.clone()));
        }
        let kubeconfig = member.kubeconfig.as_ref().map(|path| folder.join(path));
        if let Some(path) = kubeconfig.as_ref().filter(|path| !path.is_file()) {
            return Err(DriverFileFlaw::NoKubeconfig {
                member: member.name.clone(),
                path: path.clone(),
            });
        }
        own.push(OwnMember {
            name: member.name.clone(),
            kubeconfig,
            profile: member.profile.clone().map(|profile| profile.0),
        });
    }
    Ok(Members::Own(own))
}

/// Stand-ins cost nothing, so that there are many of them unless the file says otherwise; other members only where it
/// asks for them.
fn scale(text: &text::Text, members: &Members) -> Result<Option<Scale>, DriverFileFlaw> {
    let usual = Scale::default();
    let wanted = match (text.scale.members, members) {
        (Some(wanted), Members::Own(own)) if wanted > own.len() => {
            return Err(DriverFileFlaw::TooFewMembers {
                wanted,
                there: own.len(),
            });
        }
        (Some(wanted), _) if wanted > MOST_MEMBERS => {
            return Err(DriverFileFlaw::TooManyMembers(wanted));
        }
        (Some(wanted), _) => wanted,
        (None, Members::StandIns) => usual.members,
        (None, _) => 0,
    };
    let at_once = text.scale.at_once.unwrap_or(usual.at_once);
    if at_once == 0 {
        return Err(DriverFileFlaw::NoneAtOnce);
    }
    Ok((wanted > 0).then_some(Scale {
        members: wanted,
        at_once,
    }))
}

#[cfg(test)]
mod tests;
