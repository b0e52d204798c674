//! A finding as sentences for the operator of the store.

use super::adapter::Expected;
use super::child_protocol::Settings;
use super::crash_images::Images;
use super::fault_injection::{FaultVerdict, InjectedFault};
use super::finding::{Control, Finding, Verdict, bad_on_ext4, bad_on_strict};
use super::outcome::Class;
use super::replica::Replica;
use crate::power::Class as PathClass;
use crate::words::many;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Finding {
    /// The finding, one sentence per line: first the verdict, last what remains unknown.
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        lines.extend(self.fault_verdict.as_ref().map(of_disk));
        lines.extend(self.like.as_ref().map(Replica::words));
        lines.push(self.settings());
        lines.push(self.kills());
        match (&self.images, &self.no_images) {
            (Some(images), _) => lines.extend(self.of_images(images)),
            (None, why) => lines.push(format!(
                "Power loss was not simulated: {}. So this rests on process kills alone, which lose \
                 nothing that the kernel holds; a store that never syncs would pass them.",
                why.as_deref().unwrap_or("not requested")
            )),
        }
        let known = self.images.as_ref().map(|images| &images.known);
        for control in &self.controls {
            let is_explained_above =
                |what: &String| known.is_some_and(|known| known.contains_key(what));
            lines.push(of_control(control) + &known_of(control, is_explained_above));
        }
        lines.extend(advice(&self.controls));
        lines.extend(self.faults.iter().flat_map(|faults| of_faults(faults)));
        lines.push(self.not_known());
        lines
    }

    fn headline(&self) -> String {
        let name = name(&self.settings);
        match &self.verdict {
            Verdict::NotDurable(evidence) => format!("{name}: not durable: {evidence}."),
            Verdict::Survived { cuts, images, kills } => {
                let strict = self.images.as_ref().map_or(0, bad_on_strict);
                let names = if strict > 0 { "names as on ext4; " } else { "" };
                format!(
                    "{name}: survived {} ({names}{}) and {}: no acknowledged \
                     transaction was lost.",
                    many(*cuts, "simulated power loss"),
                    many(*images, "crash image"),
                    many(*kills, "process kill")
                )
            }
            Verdict::PromisesNothing(seen) => {
                format!("{name}: this setting promises nothing in a power loss; {seen}.")
            }
            Verdict::Unknown(reason) => format!("{name}: unknown: {reason}."),
        }
    }

    fn settings(&self) -> String {
        let options = match &*self.options {
            "" => " with default options".to_owned(),
            options => format!("?{options}"),
        };
        format!(
            "Tested: {}{options}, durability {} ({}).",
            self.store, self.settings.durability, self.settings.evidence
        )
    }

    fn kills(&self) -> String {
        let kills = &self.kills;
        let end = match &kills.example {
            None => "all were there, whole, after each kill".to_owned(),
            Some(example) => {
                let bad = kills.bad();
                let promise = match self.expected {
                    Expected::Hold => "",
                    Expected::LoseLatest | Expected::Lose => {
                        ", about which this setting promises nothing"
                    }
                };
                let after = many(bad, "kill");
                format!("not all were there, whole, after {after}{promise}; for example: {example}")
            }
        };
        format!(
            "Killed {} under load, {} acknowledged: {end}.",
            many(kills.kills, "time"),
            many(kills.acknowledged, "transaction")
        )
    }

    fn of_images(&self, images: &Images) -> Vec<String> {
        let mut lines = vec![format!(
            "Power cut at {} of a recording of {} steps and {} acknowledged transactions \
             ({} clients, seed {}): {}, {}.",
            many(images.places, "place"),
            images.steps,
            images.acknowledged,
            self.clients,
            self.seed,
            many(images.images, "crash image"),
            counts(images)
        )];
        if self.expected == Expected::Hold {
            lines.extend(bound(images));
        }
        let bad_strict = bad_on_strict(images);
        if bad_on_ext4(images) == 0 && bad_strict > 0 {
            lines.push(format!(
                "Warning: {bad_strict} images fail under strict POSIX names only (a name is stable once its \
                 directory was synced); on ext4, where syncing a file makes its name \
                 stable, none does. Do not run this store on a file system with weaker guarantees."
            ));
        }
        lines.extend(by_loss(images));
        lines.extend(by_torn(images));
        let known = images.known.iter();
        lines.extend(
            known.map(|(known, count)| format!("Known cause of {count} of them: {known}.")),
        );
        lines.push(exercised(images, self.tears));
        lines.extend(kept(&images.kept));
        lines
    }

    fn not_known(&self) -> String {
        let below = "Not known from here: whether the real file system and the device keep what they \
                     sync; only pulling the plug, with a witness on another machine, shows that";
        if self.images.is_some() {
            let whole = if self.tears {
                ""
            } else {
                ". No page was torn, so this says nothing about disks that may write a page in part"
            };
            format!(
                "{below}{whole}. The model does not turn sectors into garbage, and speed measured in such \
                 a run is meaningless."
            )
        } else {
            format!("{below}. Nor is it known whether this store syncs at all.")
        }
    }
}

/// The product and the version; only the first word of a longer version text.
pub(super) fn name(settings: &Settings) -> String {
    let (product, version) = (&settings.product, &settings.version);
    let version = version.strip_prefix(&**product).unwrap_or(version).trim();
    let short = version.split([' ', ',']).next().unwrap_or(version);
    format!("{product} {short}")
}

/// Fewer independent trials give no bound: 3/n would be about 1.
const BOUNDING: u64 = 4;

/// With no failure at n independently drawn places, the chance of a failure at a similar place is at most 3/n
/// at 95 % confidence. The images of one place are one trial.
fn bound(images: &Images) -> Option<String> {
    let bad = images.images - images.count(Class::Ok, None);
    let independent = &images.independent;
    let (places, which) = if bad_on_ext4(images) == 0 {
        (independent.journal, "under the ext4-like model")
    } else if bad == images.heads.1 {
        let which = "in images without a torn first page of a data file";
        (independent.whole_heads, which)
    } else if bad == images.torn.1 {
        (independent.whole, "in images without torn pages")
    } else {
        return None;
    };
    let no_failure = format!("No failure at {} {which}", many(places, "place"));
    let once = "images of one place are not independent and count once; images that lose nothing do not count";
    Some(if places < BOUNDING {
        format!(
            "{no_failure} ({once}): too few for a bound on the chance of a failure; raise --images."
        )
    } else {
        format!(
            "{no_failure}: the chance that a power loss at another, similarly drawn place of this recording fails is \
             at most {:.1} % (95 % confidence, rule of three; {once}).",
            300.0 / places as f64
        )
    })
}

/// Failures by kind of loss, if there are any.
fn by_loss(images: &Images) -> Option<String> {
    let bad = images.losses.values().any(|(_, bad)| *bad > 0);
    let parts = images.losses.iter();
    let parts: Vec<_> = parts.map(|(loss, (all, bad))| format!("{loss} {bad} of {all}")).collect();
    bad.then(|| format!("Failed images by kind of loss: {}.", parts.join(", ")))
}

/// Failures by what was torn, if there are any.
fn by_torn(images: &Images) -> Option<String> {
    let ((torn, bad_torn), (heads, bad_heads)) = (images.torn, images.heads);
    let (whole, bad) = (images.images - torn, images.images - images.count(Class::Ok, None));
    let others = torn.saturating_sub(heads);
    (bad > 0 && torn > 0).then(|| {
        format!(
            "Failed images by what was torn: no page {} of {whole}, pages other than the first of a data \
             file {} of {others}, the first page of a data file {bad_heads} of {heads}.",
            bad - bad_torn,
            bad_torn.saturating_sub(bad_heads)
        )
    })
}

fn counts(images: &Images) -> String {
    let words = Class::ALL.into_iter().filter_map(|class| {
        let count = images.count(class, None);
        (count > 0).then(|| format!("{count} {}", class.words()))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn exercised(images: &Images, tears: bool) -> String {
    let of = |class: PathClass| {
        let found = images.exercised.get(class.word());
        match found {
            Some(found) if found.lost > 0 => {
                let torn = match found.torn {
                    0 if !tears => "torn: not requested".to_owned(),
                    0 => "torn: not exercised".to_owned(),
                    torn => format!("torn in {torn}"),
                };
                let lost = many(found.lost, "image");
                format!("{}: lost in {lost}, {torn}", class.word())
            }
            _ => format!("{}: not exercised", class.word()),
        }
    };
    let classes = [PathClass::Log, PathClass::Data, PathClass::Control, PathClass::Doublewrite];
    let known = classes.into_iter().filter(|class| {
        matches!(class, PathClass::Log | PathClass::Data)
            || images.exercised.contains_key(class.word())
    });
    let parts: Vec<_> = known.map(of).collect();
    let names = match images.names_lost {
        0 => "names: not exercised".to_owned(),
        lost => format!("names: lost in {}", many(lost, "image")),
    };
    let heads = match images.heads.0 {
        0 if !tears => "not requested".to_owned(),
        0 => "not exercised".to_owned(),
        torn => many(torn, "image"),
    };
    format!(
        "Lost in the images: {}; first page of a data file torn: {heads}; {names}.",
        parts.join("; ")
    )
}

fn of_control(control: &Control) -> String {
    let images = control.images.images;
    let bad = images - control.images.count(Class::Ok, None);
    let of = many(images, "crash image");
    let expected = match control.expected {
        Expected::Hold => "must hold",
        Expected::Lose => "must lose data",
        Expected::LoseLatest => "may lose the latest transactions as a whole",
    };
    let did = match (control.expected, control.fired()) {
        (Expected::Hold, true) => format!("kept all data in {of}, as expected"),
        (Expected::Hold, false) => format!("LOST DATA in {bad} of {of}"),
        (Expected::Lose, false) => format!("LOST NOTHING in {of}"),
        (Expected::LoseLatest, true) if bad == 0 => format!("lost nothing in {of}"),
        (Expected::Lose | Expected::LoseLatest, true) => {
            format!("lost data in {bad} of {of}, as expected")
        }
        (Expected::LoseLatest, false) => format!("LOST MORE in {bad} of {of}"),
    };
    let lost = match control.images.lost_max {
        0 => String::new(),
        lost => format!(
            "; at most {} at once{}",
            many(lost, "transaction"),
            reach(&control.images, control.window_ms)
        ),
    };
    let example = match (control.fired(), control.images.examples.values().next_back()) {
        (false, Some(example)) => format!(" For example: {example}."),
        _ => String::new(),
    };
    format!(
        "Control {} ({expected}): {did} ({}){lost}.{example}",
        control.name,
        counts(&control.images)
    )
}

/// Which of the controls must not be used for data that has to survive.
fn advice(controls: &[Control]) -> Option<String> {
    let names = |expected| {
        let lost = |one: &&Control| one.images.images > one.images.count(Class::Ok, None);
        let of = controls.iter().filter(|one| one.expected == expected);
        let names: Vec<_> = of.filter(lost).map(|one| &*one.name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let never = names(Expected::Lose).map(|names| format!("never use {names}"));
    let late = names(Expected::LoseLatest)
        .map(|names| format!("use {names} only if the latest transactions may be lost"));
    let parts: Vec<_> = never.into_iter().chain(late).collect();
    (!parts.is_empty()).then(|| {
        let parts = parts.join("; ");
        format!("If acknowledged transactions must survive a power loss: {parts}.")
    })
}

/// Known causes of the failures of a control; refers back to those already explained.
fn known_of(control: &Control, is_explained_above: impl Fn(&String) -> bool) -> String {
    let known = control.images.known.iter().filter(|_| !control.fired());
    let sentences = known.map(|(what, count)| {
        if is_explained_above(what) {
            format!(" Known cause of {count} of them: as above.")
        } else {
            format!(" Known cause of {count} of them: {what}.")
        }
    });
    sentences.collect()
}

/// How far back a loss reached.
fn reach(images: &Images, window_ms: Option<u64>) -> String {
    let reached = images.reach_ms_max;
    match window_ms {
        Some(window) => {
            format!(" and {reached} ms back (documented: up to {window} ms)")
        }
        None => format!(" and {reached} ms back"),
    }
}

/// The second verdict, for a failing disk.
fn of_disk(verdict: &FaultVerdict) -> String {
    match verdict {
        FaultVerdict::NotDurable(evidence) => format!(
            "On a disk that fails: not durable: {evidence}. Stop the store at its first I/O error, check \
             its files, and restore them if in doubt."
        ),
        FaultVerdict::Survived(faults) => format!(
            "On a disk that fails: no acknowledged transaction was lost after {faults} kinds of faults \
             that the store could notice."
        ),
        FaultVerdict::Unknown => {
            "On a disk that fails: unknown: no fault that the store could notice has struck."
                .to_owned()
        }
    }
}

/// The folders of kept failing images, if there are any.
fn kept(kept: &[PathBuf]) -> Option<String> {
    let first = kept.first()?.display();
    let folders: Vec<_> = kept.iter().map(|path| path.display().to_string()).collect();
    Some(format!(
        "Kept as they were before recovery: {}. Recheck with: syncline verify durability --again {first}",
        folders.join(", ")
    ))
}

fn named(struck: &InjectedFault) -> String {
    format!("{} in the {}", struck.fault, struck.class.word())
}

fn of_faults(faults: &[InjectedFault]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut not_exercised: BTreeMap<PathClass, Vec<&str>> = BTreeMap::new();
    for struck in faults {
        let fault = &struck.fault;
        let Some(found) = struck.found else {
            not_exercised.entry(struck.class).or_default().push(fault);
            continue;
        };
        let mut went = match &*struck.stopped {
            "" if struck.after == 0 => "it acknowledged nothing more".to_owned(),
            "" => "the store continued".to_owned(),
            why => format!("its clients stopped ({why})"),
        };
        if let Some(line) = &struck.most_severe_line {
            went.push_str(&format!(", and its log has \"{line}\""));
        }
        let then = match (found, &struck.what) {
            (Class::Ok, _) => "nothing acknowledged was gone".to_owned(),
            (class, what) => {
                format!("{}: {}", class.words(), what.as_deref().unwrap_or("no details"))
            }
        };
        let kept = kept(&struck.kept).map(|words| format!(" {words}"));
        let kept = kept.unwrap_or_default();
        lines.push(format!("Fault, {}: {went}; {then}.{kept}", named(struck)));
    }
    for (class, faults) in not_exercised {
        lines.push(format!("Not exercised in the {}: {}.", class.word(), faults.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{bound, exercised};
    use crate::durability::adapter::Expected;
    use crate::durability::child_protocol::Settings;
    use crate::durability::crash_images::{Images, LossCounts};
    use crate::durability::finding::{FORMAT, Finding, Verdict};
    use crate::durability::independent_trials::IndependentTrials;
    use crate::durability::process_kills::KillResults;
    use std::collections::BTreeMap;

    /// The given numbers of images and places, with all images ok.
    fn images(images: u64, places: u64) -> Images {
        Images {
            images,
            places,
            independent: IndependentTrials { journal: places, ..IndependentTrials::default() },
            journal: BTreeMap::from([("ok".to_owned(), images)]),
            exercised: BTreeMap::from([(
                "data".to_owned(),
                LossCounts { lost: 1, torn: 0, units: 1 },
            )]),
            ..Images::default()
        }
    }

    fn finding(expected: Expected, kills: KillResults) -> Finding {
        let mut finding = Finding {
            format: FORMAT,
            store: "store".to_owned(),
            options: String::new(),
            like: None,
            settings: Settings::default(),
            expected,
            window_ms: None,
            seed: 1,
            tears: true,
            clients: 4,
            kills,
            images: Some(images(200, 36)),
            no_images: None,
            controls: Vec::new(),
            faults: None,
            fault_verdict: None,
            verdict: Verdict::Unknown(String::new()),
        };
        finding.verdict = finding.judge();
        finding
    }

    #[test]
    fn the_headline_counts_places_and_images_and_bounds_use_places() {
        let mut finding = finding(Expected::Hold, KillResults::default());
        finding.verdict = Verdict::Survived { cuts: 36, images: 200, kills: 1 };
        let lines = finding.sentences();
        let survived = "survived 36 simulated power losses (200 crash images) and 1 process kill:";
        assert!(lines[0].contains(survived), "{lines:?}");
        let bounded = bound(&images(200, 36)).unwrap();
        assert!(bounded.contains("at 36 places") && bounded.contains("at most 8.3 %"), "{bounded}");
        assert!(bounded.contains("are not independent"), "{bounded}");
        let few = bound(&images(30, 3)).unwrap();
        assert!(few.contains("too few for a bound") && !few.contains('%'), "{few}");
    }

    #[test]
    fn untorn_classes_are_reported_as_not_exercised() {
        let mut images = images(20, 2);
        let text = exercised(&images, true);
        assert!(text.contains("data: lost in 1 image, torn: not exercised"), "{text}");
        assert!(text.contains("first page of a data file torn: not exercised"), "{text}");
        let text = exercised(&images, false);
        assert!(text.contains("first page of a data file torn: not requested"), "{text}");
        images.heads = (1, 0);
        let text = exercised(&images, true);
        assert!(text.contains("first page of a data file torn: 1 image;"), "{text}");
    }

    #[test]
    fn losses_of_a_setting_that_promises_nothing_are_not_blamed() {
        let kills = KillResults {
            kills: 1,
            acknowledged: 23_042,
            example: Some("304 of 23042 acknowledged are gone".to_owned()),
            ..KillResults::default()
        };
        let text = |expected| finding(expected, kills.clone()).kills();
        let nothing = text(Expected::Lose);
        let words = "Killed 1 time under load, 23042 transactions acknowledged: not all were there, whole, \
                     after 1 kill, about which this setting promises nothing; for example: 304 of 23042";
        assert!(nothing.starts_with(words), "{nothing}");
        let hold = text(Expected::Hold);
        assert!(!hold.contains("promises nothing"), "{hold}");
        assert!(!nothing.contains("should") && !hold.contains("should"), "{hold}");
    }
}
