//! Addresses that connections may lead to: public ones, and ranges that the operator names.
//!
//! INVARIANT(public-addresses): no connection leads to an address that is not public, in whatever
//! form it is written, unless it lies in a range that the operator's configuration names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), length)
}

const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// Ranges with numbers that are public by the registry, and that a cloud routes to services of its
/// own instead: for the machines inside it, they are what link-local addresses are elsewhere.
///
/// Other clouds use numbers that are not public anyway: 169.254.0.0/16 (AWS, Google, Oracle,
/// `DigitalOcean`, Hetzner, Tencent and most others), 100.100.100.200 (Alibaba), 192.0.0.192 (Oracle),
/// `fd00:ec2::/32` (AWS), `fd20:ce::254` (Google), `fd00:42::42` (Scaleway).
const CLOUDS_V4: [Ipv4Net; 3] = [
    // Azure: settings and certificates of each machine.
    Ipv4Net::new_assert(Ipv4Addr::new(168, 63, 129, 16), 32),
    // IBM: resolvers, mirrors and storage, and the endpoints of its services.
    v4(161, 26, 0, 16),
    v4(166, 8, 0, 14),
];

/// Ranges of IPv4 that are not public, as the registry of special purposes has them.
const SPECIAL_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// The part of IPv6 that is assigned for public use.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

/// Ranges in it that are not public: protocol assignments (Teredo among them), and documentation.
const SPECIAL_V6: [Ipv6Net; 3] =
    [v6(0x2001, 0, 0, 23), v6(0x2001, 0xdb8, 0, 32), v6(0x3fff, 0, 0, 20)];

/// Addresses of IPv4 behind a translator.
const NAT64: Ipv6Net = v6(0x64, 0xff9b, 0, 96);

/// Ranges that an operator may name, as a whole or in part.
const INTRANETS_V4: [Ipv4Net; 9] = [
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(161, 26, 0, 16),
    v4(166, 8, 0, 14),
];
const INTRANETS_V6: [Ipv6Net; 3] =
    [v6(0xfc00, 0, 0, 7), v6(0xfe80, 0, 0, 10), Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)];

/// A range that no operator may open to guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` in `network.private_ranges` is not a private range: name a part of a private one, such \
     as `10.1.0.0/16`"
)]
pub struct NotPrivate(pub IpNet);

/// The addresses that connections may lead to.
#[derive(Debug, Clone, Default)]
pub struct AddressRules {
    allowed: Vec<IpNet>,
}

impl AddressRules {
    /// Public addresses, and these private ranges.
    ///
    /// # Errors
    ///
    /// Refuses ranges that reach beyond one private range.
    pub fn new(allowed: &[IpNet]) -> Result<Self, NotPrivate> {
        for range in allowed {
            let is_private = match range {
                IpNet::V4(range) => INTRANETS_V4.iter().any(|whole| whole.contains(range)),
                IpNet::V6(range) => INTRANETS_V6.iter().any(|whole| whole.contains(range)),
            };
            if !is_private {
                return Err(NotPrivate(*range));
            }
        }
        Ok(Self { allowed: allowed.to_vec() })
    }

    /// True if a connection may lead there.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        let inner = inner_address(address);
        is_public(inner) || self.allowed.iter().any(|range| range.contains(&inner))
    }
}

/// The address of IPv4 that an address of IPv6 stands for, else the address itself.
fn inner_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [.., a, b, c, d] = v6.octets();
    let last = Ipv4Addr::new(a, b, c, d);
    let [_, _, e, f, g, h, ..] = v6.octets();
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] => last.into(),
        _ if NAT64.contains(&v6) => last.into(),
        // 6to4 has it behind the prefix.
        [0x2002, ..] => Ipv4Addr::new(e, f, g, h).into(),
        _ => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().chain(&CLOUDS_V4).any(|range| range.contains(&v4)),
        IpAddr::V6(v6) => {
            GLOBAL_V6.contains(&v6) && !SPECIAL_V6.iter().any(|range| range.contains(&v6))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[rustfmt::skip]
    const NOT_PUBLIC: &[&str] = &[
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
        "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe",
        "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1",
        "2001::1", "2001:0:53aa:64c:0:fbbf:80ff:fffe", "2001:db8::1", "2001:1ff::1", "3fff::1",
        "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "fc00::1", "fd00:ec2::254", "fe80::1",
        "168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1",
        "100.100.100.200", "192.0.0.192", "169.254.170.2", "169.254.0.23", "169.254.42.42",
        "161.26.0.7", "161.26.255.255", "166.8.0.1", "166.11.255.255", "64:ff9b::a11a:7",
        "fd20:ce::254", "fd00:42::42", "fd00:ec2::23",
        "fec0::1", "ff02::1", "4000::1", "5f00::1", "e000::1",
    ];

    #[rustfmt::skip]
    const PUBLIC: &[&str] = &[
        "8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1",
        "128.0.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "198.17.0.1", "198.20.0.1",
        "168.63.129.15", "168.63.129.17", "161.25.0.1", "161.27.0.1", "166.7.0.1", "166.12.0.1",
        "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2001:200::1",
        "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    ];

    #[test]
    fn only_public_addresses_are_reached_in_whatever_form() {
        let rules = AddressRules::default();
        for text in NOT_PUBLIC {
            assert!(!rules.allow(address(text)), "{text} is allowed");
        }
        for text in PUBLIC {
            assert!(rules.allow(address(text)), "{text} is refused");
        }
    }

    #[test]
    fn an_operator_opens_named_private_ranges_and_nothing_else() {
        let rules = AddressRules::new(&["10.1.0.0/16".parse().unwrap()]).unwrap();
        for text in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203"] {
            assert!(rules.allow(address(text)), "{text} is refused");
        }
        for text in ["10.2.0.1", "127.0.0.1", "::ffff:10.2.0.1"] {
            assert!(!rules.allow(address(text)), "{text} is allowed");
        }
        for text in [
            "0.0.0.0/0",
            "::/0",
            "8.0.0.0/5",
            "224.0.0.0/4",
            "8.8.8.8/32",
            "2000::/3",
            "168.63.129.16/32",
        ] {
            assert!(AddressRules::new(&[text.parse().unwrap()]).is_err(), "{text} is accepted");
        }
        assert!(
            AddressRules::new(&["fd00::/8".parse().unwrap()]).unwrap().allow(address("fd12::1"))
        );
    }

    #[test]
    fn the_edges_of_every_special_range_are_inside() {
        let rules = AddressRules::default();
        for range in SPECIAL_V4.into_iter().chain(CLOUDS_V4) {
            assert!(!rules.allow(range.network().into()) && !rules.allow(range.broadcast().into()));
        }
        for range in SPECIAL_V6 {
            assert!(!rules.allow(range.network().into()) && !rules.allow(range.broadcast().into()));
        }
    }
}
