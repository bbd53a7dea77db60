//! What an object waits for: whether it can be missing, and whether the order of an update lets it wait for ever.
//!
//! In an update run levels are barriers, components of one level run side by side, files of one component in order
//! (D2). A task that waits for something which only a later task brings is a deadlock.

use lockstep_api::names::{group, kind};
use lockstep_payload::Manifest;

use super::survey::{Place, Survey};

/// Where the object is there and nothing of what it needs is.
pub(super) fn missing(survey: &Survey<'_>, user: usize, providers: &[usize]) -> Option<Place> {
    survey.find(&[user], providers)
}

/// Where the object waits for a provider that an update reaches only after it: that provider, and the smallest place.
///
/// With a barrier at a place, everything behind it is late; so each barrier is tried once, and none at all.
pub(super) fn too_late(survey: &Survey<'_>, user: usize, providers: &[usize]) -> Option<(usize, Place)> {
    let between = |provider: usize| (user + 1..provider).filter(|index| is_barrier(survey.manifest(*index)));
    let mut barriers: Vec<usize> =
        providers.iter().filter(|provider| **provider > user).flat_map(|it| between(*it)).collect();
    barriers.sort_unstable();
    barriers.dedup();
    let with_barrier = |barrier: Option<usize>| {
        let is_late = |provider: &usize| {
            is_before(survey, user, *provider) || barrier.is_some_and(|at| user < at && at < *provider)
        };
        let (late, in_time): (Vec<usize>, Vec<usize>) = providers.iter().copied().partition(is_late);
        let found = late.into_iter().filter_map(|provider| {
            let present: Vec<usize> = [user, provider].into_iter().chain(barrier).collect();
            survey.find(&present, &in_time).map(|place| (provider, place))
        });
        found.min_by_key(|(_, place)| place.deviations)
    };
    [None]
        .into_iter()
        .chain(barriers.into_iter().map(Some))
        .filter_map(with_barrier)
        .min_by_key(|(_, place)| place.deviations)
}

/// Whether an update always finishes one manifest before it starts another.
pub(super) fn is_before(survey: &Survey<'_>, first: usize, second: usize) -> bool {
    let (one, other) = (survey.manifest(first), survey.manifest(second));
    let side_by_side = match (&one.run_level, &other.run_level) {
        (Some(one), Some(other)) => one.level == other.level && one.component != other.component,
        _ => false,
    };
    first < second && (!side_by_side || is_barrier(one) || is_barrier(other))
}

/// Whether everything before a manifest is done before it starts, and everything after it waits.
fn is_barrier(manifest: &Manifest) -> bool {
    let is_job =
        manifest.id.kind == kind::JOB && manifest.id.group == group::BATCH && manifest.version() == "v1";
    is_job || manifest.run_level.is_none()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Objects, object, survey};
    use super::*;

    const JOB: (&str, &str) = ("batch/v1", "Job");
    const MAP: (&str, &str) = ("v1", "ConfigMap");

    fn is_late(files: &[(&str, (&str, &str))], user: usize, provider: usize) -> bool {
        let objects = files.iter().fold(Objects::new(), |objects, (file, (api_version, kind))| {
            objects.file(file, &[object(api_version, kind, "default", &file.replace(['_', '.'], "-"))])
        });
        let release = objects.release();
        survey(&release, |survey| too_late(survey, user, &[provider]).is_some())
    }

    #[test]
    fn a_later_level_is_too_late_and_an_earlier_one_is_not() {
        let files = [("0000_10_a_1.yaml", MAP), ("0000_20_a_1.yaml", MAP)];
        assert!(is_late(&files, 0, 1));
        assert!(!is_late(&files, 1, 0));
    }

    #[test]
    fn files_of_one_component_run_in_order_and_components_side_by_side() {
        assert!(is_late(&[("0000_10_a_1.yaml", MAP), ("0000_10_a_2.yaml", MAP)], 0, 1));
        assert!(!is_late(&[("0000_10_a_1.yaml", MAP), ("0000_10_b_2.yaml", MAP)], 0, 1));
    }

    #[test]
    fn a_job_or_a_file_without_run_level_separates_the_components_of_a_level() {
        for barrier in [("0000_10_b_1.yaml", JOB), ("0000_10_b.yaml", MAP)] {
            let files = [("0000_10_a_1.yaml", MAP), barrier, ("0000_10_c_1.yaml", MAP)];
            assert!(is_late(&files, 0, 2), "{barrier:?}");
            assert!(is_late(&files, 0, 1), "{barrier:?}");
        }
        let harmless = [("0000_10_a_1.yaml", MAP), ("0000_10_b_1.yaml", MAP), ("0000_10_c_1.yaml", MAP)];
        assert!(!is_late(&harmless, 0, 2));
    }

    #[test]
    fn a_second_provider_in_time_is_enough() {
        let files = ["0000_10_a_1.yaml", "0000_10_b_1.yaml", "0000_20_a_1.yaml"];
        let release = files
            .iter()
            .fold(Objects::new(), |objects, file| {
                objects.file(file, &[object("v1", "ConfigMap", "default", &file.replace(['_', '.'], "-"))])
            })
            .release();
        survey(&release, |survey| {
            assert_eq!(too_late(survey, 0, &[1, 2]), None);
            assert_eq!(too_late(survey, 0, &[2]).map(|(provider, _)| provider), Some(2));
            assert_eq!(too_late(survey, 1, &[0, 2]), None);
        });
    }
}
