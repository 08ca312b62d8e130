//! Takes over the stretches of a file one by one, and hands what they hold to the gatherer.

use super::{
    DumpError,
    cut::{Batch, Language, What},
    gather::Gatherer,
    item::{CutOut, DEEPEST, Found, Place, Types},
    json,
    text::decode,
    typed, yaml,
};
use crate::{LimitError, Limits};

/// How many times the size of the largest object may be kept until the type of a list is known.
const DEFERRED: usize = 4;

/// What was taken of a file so far.
pub(super) struct Taker<'a, 'd> {
    file: &'a str,
    limits: Limits,
    gatherer: &'a mut Gatherer<'d>,
    /// The type of the present list's items, where it is known by its beginning.
    items: Option<Types<'static>>,
    /// Items that do not name their type, until that of the list is known.
    deferred: Vec<Stretch>,
    /// The size of these.
    deferred_size: usize,
    /// The last item of a list in YAML: it may be truncated.
    last: Option<Stretch>,
}

/// A stretch that is kept.
struct Stretch {
    language: Language,
    line: usize,
    text: Vec<u8>,
}

impl<'a, 'd> Taker<'a, 'd> {
    /// Begins with a file.
    pub fn new(file: &'a str, limits: Limits, gatherer: &'a mut Gatherer<'d>) -> Self {
        gatherer.begin_file(file);
        Self {
            file,
            limits,
            gatherer,
            items: None,
            deferred: Vec::new(),
            deferred_size: 0,
            last: None,
        }
    }

    /// Takes several stretches.
    ///
    /// # Errors
    /// When the file exceeds a limit.
    pub fn take(&mut self, batch: Batch) -> Result<(), DumpError> {
        batch.into_stretches(|what, line, text| self.take_stretch(what, line, text))
    }

    fn take_stretch(&mut self, what: What, line: usize, text: &[u8]) -> Result<(), DumpError> {
        match what {
            What::Whole(language) => self.with_place(line, text, |gatherer, place| {
                let mut sink = |found: Found<'_>| gatherer.take(found);
                match language {
                    Language::Json => json::each_item(place, &Types::default(), DEEPEST, &mut sink),
                    Language::Yaml => yaml::each_item(place, &mut sink),
                }
            }),
            What::Opening => self.items = json::opening(&decode(text).0).map(|types| types.of_items()),
            What::Item(Language::Json) => self.take_json(line, text)?,
            What::Item(Language::Yaml) => {
                let next = Stretch {
                    language: Language::Yaml,
                    line,
                    text: text.to_vec(),
                };
                if let Some(last) = self.last.replace(next) {
                    self.take_item(last, None, false)?;
                }
            }
            What::Around(language, cut) => self.end_list(language, cut, line, text)?,
            What::Lost(why) => {
                self.begin_list();
                self.gatherer.take(Found::Lost(why));
            }
        }
        if self.gatherer.unreadable() > self.limits.unreadable {
            return Err(DumpError::TooLarge {
                file: self.file.to_owned(),
                line,
                limit: LimitError::Unreadable(self.limits.unreadable),
            });
        }
        Ok(())
    }

    fn with_place<T>(
        &mut self,
        line: usize,
        text: &[u8],
        work: impl FnOnce(&mut Gatherer<'d>, Place<'_>) -> T,
    ) -> T {
        let (text, spoilt) = decode(text);
        work(self.gatherer, Place::whole(self.file, line, &text, &spoilt))
    }

    /// Nearly all items are profiles, which need no second look.
    fn take_json(&mut self, line: usize, text: &[u8]) -> Result<(), DumpError> {
        if let Ok(json) = str::from_utf8(text)
            && let Some(profile) = typed::profile(json)
        {
            self.gatherer
                .take_typed(profile, Place::whole(self.file, line, json, &[]));
            return Ok(());
        }
        let item = Stretch {
            language: Language::Json,
            line,
            text: text.to_vec(),
        };
        let inherited = self.items.clone();
        self.take_item(item, inherited.as_ref(), false)
    }

    /// Takes an item of a list, whose items have the type `inherited` unless they name one. If that is unknown and
    /// could matter, the item is deferred.
    fn take_item(
        &mut self,
        item: Stretch,
        inherited: Option<&Types<'static>>,
        is_cut: bool,
    ) -> Result<(), DumpError> {
        let (is_known, inherited) = (inherited.is_some(), inherited.cloned().unwrap_or_default());
        let is_deferred = self.with_place(item.line, &item.text, |gatherer, place| {
            let mut found = Vec::new();
            let mut sink = |one| found.push(one);
            match item.language {
                Language::Json => json::each_item(place, &inherited, DEEPEST - 1, &mut sink),
                Language::Yaml => yaml::each_of_item(place, &inherited, is_cut, &mut sink),
            }
            let is_deferred = !is_known && found.iter().any(Found::lacks_type);
            if !is_deferred {
                found.into_iter().for_each(|one| gatherer.take(one));
            }
            is_deferred
        });
        if is_deferred {
            self.deferred_size += item.text.len();
            let is_too_large = self.deferred_size > self.limits.object.saturating_mul(DEFERRED);
            if is_too_large || self.deferred.len() >= self.limits.unreadable {
                return Err(DumpError::LateKind {
                    file: self.file.to_owned(),
                    line: item.line,
                });
            }
            self.deferred.push(item);
        }
        Ok(())
    }

    /// Ends a list: the type of its items is known now.
    fn end_list(
        &mut self,
        language: Language,
        cut: CutOut,
        line: usize,
        text: &[u8],
    ) -> Result<(), DumpError> {
        let types = self.with_place(line, text, |gatherer, place| {
            let mut sink = |found: Found<'_>| gatherer.take(found);
            let types = match language {
                Language::Json => json::around(place, cut, &mut sink).map(Types::into_owned),
                Language::Yaml => yaml::around(place, cut, &mut sink),
            };
            types.map_err(|why| sink(Found::Lost(why))).ok()
        });
        let deferred = std::mem::take(&mut self.deferred);
        let last = self.last.take();
        self.begin_list();
        let items = types.as_ref().map(Types::of_items).unwrap_or_default();
        // Of a list that is none, the rest of the items is lost with it.
        let deferred = deferred.into_iter().filter(|_| types.is_some());
        for item in deferred {
            self.take_item(item, Some(&items), false)?;
        }
        let is_cut = types.is_some_and(|types| types.is_cut());
        match last {
            Some(last) => self.take_item(last, Some(&items), is_cut && language == Language::Yaml),
            None => Ok(()),
        }
    }

    fn begin_list(&mut self) {
        self.items = None;
        self.deferred.clear();
        self.deferred_size = 0;
        self.last = None;
    }
}
