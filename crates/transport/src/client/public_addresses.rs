//! Which addresses of the network are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of host that may be reached at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anybody.
    Public,
    /// Programs on the same network or machine.
    Private,
    /// Nobody, or nothing that holds documents: link-local, the metadata services of clouds, multicast, what is
    /// reserved.
    Never,
}

/// Metadata services that are not link-local: Alibaba Cloud, Azure, Amazon over IPv6.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The kind of host that may be reached at `address`, by IANA's registries of special addresses.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&address) {
        return Reach::Never;
    }
    match address.octets() {
        [10 | 127, ..] | [192, 168, ..] => Reach::Private,
        [172, second, ..] if (16..32).contains(&second) => Reach::Private,
        // Behind the gateways of carriers.
        [100, second, ..] if (64..128).contains(&second) => Reach::Private,
        // This network; link-local; protocol assignments; documentation; 6to4 relays; benchmarks; multicast, reserved and
        // broadcast.
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => Reach::Never,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if address == METADATA_V6 {
        return Reach::Never;
    }
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Written as IPv6: mapped, by NAT64, by 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Private,
        [0xfc00..=0xfdff, ..] => Reach::Private,
        // ISATAP.
        [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        // Teredo, benchmarks and other protocol assignments; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Never,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Reach {
        reach(text.parse().unwrap())
    }

    // documents.md 9.3: deny private addresses for external documents.
    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450:4001:81b::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(of(text), Reach::Public, "{text}");
        }
        for text in [
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fdff::1",
            "::ffff:127.0.0.1",
            "::ffff:10.1.2.3",
            "64:ff9b::192.168.0.1",
            "2002:7f00:1::",
            "2600::5efe:10.0.0.1",
        ] {
            assert_eq!(of(text), Reach::Private, "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::",
            "::7f00:1",
            "::ffff:0:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::8.8.8.8",
            "2002:a9fe:a9fe::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
            "100::1",
            "4000::1",
        ] {
            assert_eq!(of(text), Reach::Never, "{text}");
        }
    }
}
