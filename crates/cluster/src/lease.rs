//! When a server may judge others.

/// Counts how often a server has renewed its lease in a row.
///
/// A server judges others only after two leases of renewals without a failure: so a database that was out of reach for
/// all ends no run when it comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseRules {
    renewals: u32,
}

/// What follows a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRenewal {
    /// Nothing.
    Nothing,
    /// The epochs of servers whose leases have ended may be ended.
    Judge,
}

impl LeaseRules {
    /// Renewals in the time of one lease.
    pub const RENEWALS: u32 = 3;

    /// Renewals in a row after which a server judges others.
    pub const STEADY: u32 = 2 * Self::RENEWALS;

    /// The lease was renewed. It `was_late` if it had ended before: this server was held up, and perhaps all were.
    pub fn renewed(&mut self, was_late: bool) -> AfterRenewal {
        let before = if was_late { 0 } else { self.renewals };
        self.renewals = before.saturating_add(1).min(Self::STEADY);
        match self.renewals < Self::STEADY {
            true => AfterRenewal::Nothing,
            false => AfterRenewal::Judge,
        }
    }

    /// The lease was not renewed, as far as is known, or the server has a new epoch.
    pub const fn interrupted(&mut self) {
        self.renewals = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_judges_after_two_leases_without_a_failure() {
        let mut rules = LeaseRules::default();
        let renew = |rules: &mut LeaseRules, times: u32| {
            (0..times)
                .map(|_| rules.renewed(false))
                .filter(|after| *after == AfterRenewal::Judge)
                .count()
        };
        assert_eq!(renew(&mut rules, 5), 0);
        assert_eq!(renew(&mut rules, 9), 9);
        rules.interrupted();
        assert_eq!(renew(&mut rules, 6), 1);
        assert_eq!(rules.renewed(true), AfterRenewal::Nothing);
        assert_eq!(renew(&mut rules, 4), 0);
        assert_eq!(renew(&mut rules, 1), 1);
    }
}
