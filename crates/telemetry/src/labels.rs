//! The labels of metrics, whose values are from bounded sets.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;

use wardian_vocabulary::ids::TenantId;

/// Maximum number of tenants that have their own series.
const MAX_TENANTS: usize = 1_000;

/// The label of all further tenants. No tenant can have this name.
const OTHER_TENANTS: &str = "(other)";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RunLabels {
    pub(super) tenant: Arc<str>,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OwnerLabels {
    pub(super) tenant: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PhaseLabels {
    pub(super) phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) method: &'static str,
    pub(super) result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) route: &'static str,
    pub(super) status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    pub(super) route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ToolCallLabels {
    pub(super) result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct EventLabels {
    pub(super) event: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DirectionLabels {
    pub(super) direction: &'static str,
}

/// The tenants that have their own series.
#[derive(Debug, Default)]
pub(super) struct TenantLabels(Mutex<HashSet<Arc<str>>>);

impl TenantLabels {
    /// The label of a tenant.
    pub(super) fn of(&self, tenant: &TenantId) -> Arc<str> {
        let mut known = self.0.lock();
        if let Some(label) = known.get(tenant.as_str()) {
            return Arc::clone(label);
        }
        if known.len() >= MAX_TENANTS {
            return OTHER_TENANTS.into();
        }
        let label: Arc<str> = tenant.as_str().into();
        known.insert(Arc::clone(&label));
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_label_sets() {
        let labels = TenantLabels::default();
        let name = |number: usize| TenantId::parse(&format!("tenant-{number}")).unwrap();
        for number in 0..MAX_TENANTS + 50 {
            let label = labels.of(&name(number));
            let is_own = *label == *name(number).as_str();
            assert_eq!(is_own, number < MAX_TENANTS, "{number}");
        }
        assert_eq!(labels.0.lock().len(), MAX_TENANTS);
        assert_eq!(&*labels.of(&name(7)), "tenant-7");
        assert!(TenantId::parse(OTHER_TENANTS).is_err());
    }
}
