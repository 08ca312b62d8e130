//! Gathers the objects of a dump into evidence.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::{
    parser::{AHEAD, ParsedObject, Parser, Parsing},
    requested,
    types::{LISTS, Types},
    unknown_versions,
};
use crate::{
    Digester, Evidence, FORMAT, Gap, History, Input, InputError, Kind, LimitError, Limits, ObjectRef, Origin,
    Requested, Tracked, Unreadable, Version,
    api::{ObjectKind, names},
    crd, lenient,
    read::input::{Counts, FilePlace},
    runs::{of_other_runs, other_runs_note},
};

/// The largest number of gaps for lists that are only a part.
const PARTIAL: usize = 1000;

pub(super) struct Gatherer<'d> {
    evidence: Evidence,
    digester: &'d Digester,
    pub limits: Limits,
    file: Arc<str>,
    parser: Parser,
    objects: HashMap<DumpObjectKey, KnownVersion>,
    versions: [BTreeSet<String>; 2],
    /// The number of documents and objects, and of YAML documents.
    pub count: usize,
    pub documents: usize,
    ignored: Counts,
    contents: BTreeSet<Kind>,
    partial: Vec<(Kind, String)>,
    /// The first part of the dump that cannot be used.
    failure: Option<InputError>,
    /// Why the dump is not read on.
    stop: Option<InputError>,
}

/// Kind, namespace, name.
type DumpObjectKey = (&'static str, Arc<str>, Arc<str>);

struct KnownVersion {
    uid: Arc<str>,
    resource_version: Box<str>,
    file: Arc<str>,
    /// True if the dump has another version.
    is_ambiguous: bool,
}

impl<'d> Gatherer<'d> {
    pub fn new(digester: &'d Digester, limits: Limits) -> Self {
        Self {
            evidence: Evidence::default(),
            digester,
            limits,
            file: "".into(),
            parser: Parser::start(),
            objects: HashMap::new(),
            versions: Default::default(),
            count: 0,
            documents: 0,
            ignored: Counts::default(),
            contents: BTreeSet::new(),
            partial: Vec::new(),
            failure: None,
            stop: None,
        }
    }

    pub fn begin_file(&mut self, name: &str) {
        self.file = name.into();
        self.count = 0;
    }

    pub fn file(&self) -> Arc<str> {
        Arc::clone(&self.file)
    }

    pub fn place(&self, line: usize) -> FilePlace<'_> {
        FilePlace {
            file: &self.file,
            line,
        }
    }

    /// Checks the limits. The error names the line, or an earlier one at which an object was parsed since.
    pub fn check_limits(&mut self, line: usize) -> Result<(), InputError> {
        if let Some(why) = self.stop.take() {
            return Err(why);
        }
        let limits = &self.limits;
        let exceeded = [
            (self.count > limits.count, LimitError::Count(limits.count)),
            (
                self.evidence.unreadable.len() > limits.unreadable,
                LimitError::Unreadable(limits.unreadable),
            ),
            (
                self.documents > limits.documents,
                LimitError::Documents(limits.documents),
            ),
        ];
        let exceeded = exceeded.into_iter().find(|(is_exceeded, _)| *is_exceeded);
        exceeded.map_or(Ok(()), |(_, limit)| Err(self.place(line).too_large(limit)))
    }

    pub fn take_malformed_list(&mut self, line: usize) {
        let why = self
            .place(line)
            .content(" is a malformed list: its items are not a list, or nest too deep");
        self.fail("", why);
    }

    /// Records a part that cannot be used. An empty kind may be any.
    fn fail(&mut self, kind: &str, why: InputError) {
        let object = ObjectRef::new(kind, "", "", "", "");
        let message = why.to_string();
        self.evidence.unreadable.push(Unreadable { object, message });
        self.failure.get_or_insert(why);
    }

    /// Takes something else in place of an object of that type.
    pub fn not_an_object(&mut self, types: &Types, line: usize) {
        let why = self
            .place(line)
            .content(" is not a Kubernetes object: dump with `kubectl get clusterprofiles -A -o yaml`");
        match types.split() {
            (names::GROUP, _, kind)
            | ("", _, kind @ ("" | "Namespace" | "Secret"))
            | ("", "", kind @ (names::KIND | names::PLACEMENT_KIND)) => self.fail(kind, why),
            (_, _, kind) => {
                self.ignored.add(kind);
                self.failure.get_or_insert(why);
            }
        }
    }

    /// Notes that the rest of a list is missing, if it has a `continue` token.
    pub fn take_partial(&mut self, types: &Types, metadata: &str, line: usize) {
        let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
        let token = &metadata["continue"];
        if token.is_null() || *token == "" {
            return;
        }
        let rest = match metadata["remainingItemCount"].as_u64() {
            Some(1) => " (1 more object)".to_owned(),
            Some(count) => format!(" ({count} more objects)"),
            None => String::new(),
        };
        let place = self.place(line);
        let reason = format!("{place} is only a part of a list{rest}: dump the whole list, without a limit");
        let of = types.of_items().kind;
        for (kind, evidence) in LISTS {
            if of == kind {
                self.contents.insert(evidence);
            }
            // The rest of a plain list may hold any kind.
            if (of.is_empty() || of == kind) && self.partial.len() < PARTIAL {
                self.partial.push((evidence, reason.clone()));
            }
        }
    }

    pub fn take_object(&mut self, types: &Types, json: &str, line: usize) {
        let identity = || lenient::identity(json.as_bytes(), "");
        match types.split() {
            (names::GROUP, version, names::KIND) => {
                self.versions[0].insert(version.to_owned());
                self.parse(ObjectKind::ClusterProfile, types, json, line);
            }
            (names::GROUP, version, names::PLACEMENT_KIND) => {
                self.versions[1].insert(version.to_owned());
                self.contents.insert(Kind::PlacementDecisions);
                self.parse(ObjectKind::PlacementDecision, types, json, line);
            }
            ("", "", kind @ (names::KIND | names::PLACEMENT_KIND)) => {
                self.record_unreadable(identity(), kind, "apiVersion is missing or not text", line);
            }
            (names::GROUP, _, "") => {
                self.record_unreadable(identity(), "", "kind is missing or not text", line)
            }
            ("", _, "Namespace") => self.take_namespace(json, line),
            ("", _, "Secret") => self.take_secret(json, line),
            ("apiextensions.k8s.io", _, "CustomResourceDefinition") => self.take_crd(json),
            ("", _, "") => self.ignored.add("object without a kind"),
            ("", _, kind) => self.ignored.add(kind),
            (group, _, kind) => self.ignored.add(&format!("{kind}.{group}")),
        }
    }

    /// Begins to parse a profile or a slice. No more are parsed in parallel than fit into the limit of one object.
    fn parse(&mut self, kind: ObjectKind, types: &Types, json: &str, line: usize) {
        self.take_parsed(AHEAD - 1, self.limits.object.saturating_sub(json.len()));
        if self.stop.is_none() {
            self.parser.begin(kind, json, &types.api_version, line);
        }
    }

    /// Takes all objects that are being parsed: a file ends.
    pub fn end_file(&mut self) -> Result<(), InputError> {
        self.take_parsed(0, 0);
        self.stop.take().map_or(Ok(()), Err)
    }

    /// Takes the oldest objects that are being parsed until no more than this many are left, with no more bytes than that.
    fn take_parsed(&mut self, count: usize, size: usize) {
        while self.parser.has_more_than(count, size)
            && let Some((parsing, parsed)) = self.parser.next()
        {
            let line = parsing.line;
            match parsed {
                ParsedObject::Profile(read) => self.take_tracked(read, parsing),
                ParsedObject::Slice(read) => self.take_tracked(read, parsing),
            }
            if let Err(why) = self.check_limits(line) {
                self.stop = Some(why);
                // The first limit that is exceeded counts.
                self.parser.give_up();
            }
        }
    }

    fn take_tracked<T: Tracked>(&mut self, read: Result<T, Box<Unreadable>>, parsing: Parsing) {
        let Parsing {
            api_version, line, ..
        } = parsing;
        let mut object = match read {
            Ok(object) => object,
            Err(unreadable) => {
                return self.record_unreadable(unreadable.object, T::KIND, &unreadable.message, line);
            }
        };
        if object.api_version_mut().is_empty() {
            *object.api_version_mut() = api_version.as_str().into();
        }
        let metadata = object.metadata();
        let key = (
            T::KIND,
            Arc::clone(&metadata.namespace),
            Arc::clone(&metadata.name),
        );
        if !self.is_new(key, &metadata.uid, &metadata.resource_version, line) {
            return;
        }
        if metadata.writers.is_some() {
            self.contents.insert(Kind::Writers);
        }
        let histories = T::histories_mut(&mut self.evidence);
        if let Some(neighbour) = histories.last() {
            object.share_with(neighbour.last());
        }
        histories.push(History {
            origin: Origin::Listed,
            versions: vec![Version { at: None, object }],
            deleted: None,
            deleted_version: None,
        });
    }

    fn take_namespace(&mut self, json: &str, line: usize) {
        self.contents.insert(Kind::Namespaces);
        match lenient::namespace(json.as_bytes()) {
            Ok(namespace) => {
                let key = ("Namespace", "".into(), namespace.name.as_str().into());
                if self.is_new(key, &namespace.uid, &namespace.resource_version, line) {
                    self.evidence.namespaces.push(namespace);
                }
            }
            Err(unreadable) => {
                self.record_unreadable(unreadable.object, "Namespace", &unreadable.message, line);
            }
        }
    }

    /// Takes a Secret: those of consumers are digested, and of others only those with a kubeconfig are kept.
    fn take_secret(&mut self, json: &str, line: usize) {
        self.contents.insert(Kind::Secrets);
        let identity = || lenient::identity(json.as_bytes(), "Secret");
        let value: Value = match serde_json::from_str(json) {
            Ok(value) => value,
            Err(error) => {
                let message = lenient::unparsable(json.as_bytes(), &error);
                return self.record_unreadable(identity(), "Secret", &message, line);
            }
        };
        let labels = &value["metadata"]["labels"];
        // Malformed labels may be meant to include it.
        if (labels.is_object() || labels.is_null()) && labels.get(names::LABEL_SECRET_PROFILE).is_none() {
            self.contents.insert(Kind::UnlabelledSecrets);
            self.evidence
                .unlabelled_secrets
                .extend(self.digester.unlabelled(&value));
            let label = names::LABEL_SECRET_PROFILE;
            return self.ignored.add(&format!("Secret without the label {label}"));
        }
        match self.digester.secret(&value) {
            Ok(secret) => {
                let key = (
                    "Secret",
                    secret.namespace.as_str().into(),
                    secret.name.as_str().into(),
                );
                if self.is_new(key, &secret.uid, &secret.resource_version, line) {
                    self.evidence.secrets.push(secret);
                }
            }
            Err(unreadable) => self.record_unreadable(identity(), "Secret", &unreadable.message, line),
        }
    }

    fn take_crd(&mut self, json: &str) {
        let crd = serde_json::from_str(json).unwrap_or_default();
        let served = |kind| crd::served_versions(&crd, kind);
        let hub = &mut self.evidence.header.hub;
        match (
            served(ObjectKind::ClusterProfile),
            served(ObjectKind::PlacementDecision),
        ) {
            (served, _) if !served.is_empty() => hub.served = served,
            (_, served) if !served.is_empty() => hub.placement_served = served,
            _ => self.ignored.add("CustomResourceDefinition of another kind"),
        }
    }

    /// Returns `true` if the name is new. Of two versions neither counts, as the newer one is unknown.
    fn is_new(&mut self, key: DumpObjectKey, uid: &str, resource_version: &str, line: usize) -> bool {
        let Some(version) = self.objects.get_mut(&key) else {
            let version = KnownVersion {
                uid: uid.into(),
                resource_version: resource_version.into(),
                file: Arc::clone(&self.file),
                is_ambiguous: false,
            };
            self.objects.insert(key, version);
            return true;
        };
        let is_same = *version.uid == *uid && *version.resource_version == *resource_version;
        if (!is_same || resource_version.is_empty()) && !version.is_ambiguous {
            version.is_ambiguous = true;
            let (one, other) = (&version.file, &self.file);
            let message =
                format!("it is in the dump twice, in {one} and again at {other}:{line}: keep the newer one");
            let object = ObjectRef::new(key.0, &key.1, &key.2, "", "");
            self.evidence.unreadable.push(Unreadable { object, message });
        }
        false
    }

    /// Removes objects in two versions, and unlabelled Secrets that are repeated or outside consumers' namespaces.
    fn withdraw(&mut self) {
        let ambiguous = self.objects.iter().filter(|(_, version)| version.is_ambiguous);
        let ambiguous: HashSet<(&str, &str, &str)> = ambiguous
            .map(|((kind, namespace, name), _)| (*kind, &**namespace, &**name))
            .collect();
        let is_kept =
            |object: &ObjectRef| !ambiguous.contains(&(&*object.kind, &*object.namespace, &*object.name));
        let evidence = &mut self.evidence;
        if !ambiguous.is_empty() {
            evidence
                .profiles
                .retain(|history| is_kept(&history.last().into()));
            evidence.slices.retain(|history| is_kept(&history.last().into()));
            evidence.namespaces.retain(|namespace| is_kept(&namespace.into()));
            evidence.secrets.retain(|secret| is_kept(&secret.into()));
        }
        let consumers = evidence
            .namespaces
            .iter()
            .filter(|namespace| namespace.consumer().is_some());
        let consumers: BTreeSet<&str> = consumers.map(|namespace| namespace.name.as_str()).collect();
        let mut names = BTreeSet::new();
        evidence.unlabelled_secrets.retain(|secret| {
            consumers.contains(secret.namespace.as_str())
                && names.insert((secret.namespace.clone(), secret.name.clone()))
        });
    }

    /// Records an object that cannot be read. An empty kind may be any.
    fn record_unreadable(&mut self, mut object: ObjectRef, kind: &str, message: &str, line: usize) {
        kind.clone_into(&mut object.kind);
        let message = if object.name.is_empty() {
            format!("{message} ({})", self.place(line))
        } else {
            message.to_owned()
        };
        self.evidence.unreadable.push(Unreadable { object, message });
    }

    /// Returns the evidence, unless the dump holds other kinds but no ClusterProfile, or only unreadable objects.
    pub fn finish(mut self, name: &str) -> Result<Input, InputError> {
        self.withdraw();
        let may_be = |kinds: &[&str]| {
            let mut unreadable = self.evidence.unreadable.iter();
            unreadable.any(|unreadable| kinds.contains(&&*unreadable.object.kind))
        };
        let has_profiles = !self.evidence.profiles.is_empty() || may_be(&["", names::KIND]);
        if self.evidence.profiles.is_empty() && self.evidence.slices.is_empty() {
            if let Some(failure) = self.failure {
                return Err(failure);
            }
            // Without profiles, kubectl prints an empty list. Other kinds suggest the wrong file.
            if !self.ignored.is_empty() && !may_be(&["", names::KIND, names::PLACEMENT_KIND]) {
                self.objects.keys().for_each(|(kind, ..)| self.ignored.add(kind));
                return Err(InputError::Content(format!(
                    "{name} holds no ClusterProfile (but {}): dump with `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields`",
                    self.ignored.summary()
                )));
            }
        }
        let mut notes = Vec::new();
        if !self.ignored.is_empty() {
            notes.push(format!("ignored in the dump: {}", self.ignored.summary()));
        }
        let [profiles, slices] = self.versions;
        notes.extend(unknown_versions(&profiles, names::KIND));
        notes.extend(unknown_versions(&slices, names::PLACEMENT_KIND));
        // An inventory without profiles is one; a dump of decisions alone says nothing of profiles.
        if has_profiles || !self.contents.contains(&Kind::PlacementDecisions) {
            self.contents.insert(Kind::Inventory);
        } else {
            self.contents.remove(&Kind::Inventory);
        }
        let kinds = requested(&self.contents);
        let mut evidence = self.evidence;
        let partial = self.partial.into_iter();
        let partial = partial.filter(|(kind, _)| kinds.get(kind) == Some(&Requested::Yes));
        evidence
            .gaps
            .extend(partial.map(|(kind, reason)| Gap::of(kind, reason)));
        let header = &mut evidence.header;
        header.format = FORMAT.to_owned();
        header.suite_version = env!("CARGO_PKG_VERSION").to_owned();
        let file = name
            .rsplit(['/', '\\'])
            .find(|part| !part.is_empty())
            .unwrap_or(name);
        header.hub.source = format!("dump {file}");
        header.hub.api_version = profiles.into_iter().next_back();
        header.hub.placement_version = slices.into_iter().next_back();
        header.requested = kinds;
        header.other_runs = of_other_runs(&evidence.profiles, None);
        notes.extend(other_runs_note(&header.other_runs));
        Ok(Input { evidence, notes })
    }
}
