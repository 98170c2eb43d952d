//! Who the clients are: address, country, city, network.
//!
//! Invariant: all of it is a function of the address's rank alone, as in a log that looks places
//! up by address.

use super::names::{ASNS, CITIES, CLIENTS, COUNTRIES};
use super::random::{Alias, Stream, below, happens};

/// The skew of countries over addresses.
pub(super) const COUNTRY_SKEW: f64 = 1.1;

/// Share of the addresses whose city is unknown.
const CITY_UNKNOWN: f64 = 0.1;

/// Networks that serve one country; neighbours share some, and all of them are used.
const ASNS_PER_COUNTRY: u32 = 40;

/// What is known about one client address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) country: u32,
    pub(super) city: Option<u32>,
    pub(super) asn: i32,
}

/// Returns all clients by rank of their address.
pub(super) fn clients() -> Vec<Client> {
    let countries = Alias::zipf(COUNTRIES, COUNTRY_SKEW);
    (0..CLIENTS).map(|rank| client(rank, &countries)).collect()
}

fn client(rank: u32, countries: &Alias) -> Client {
    // The world is one, whatever the seed of the rows.
    let draw = |id| Stream::new(0, id).at(u64::from(rank));
    let country = countries.sample(draw(0));
    let cities = (CITIES - country).div_ceil(COUNTRIES);
    let city = country + COUNTRIES * below(draw(1), cities);
    let city = (!happens(draw(2), CITY_UNKNOWN)).then_some(city);
    // 195 countries, 26 numbers apart, cover all 5,000 networks.
    let network = (country * 26 + below(draw(3), ASNS_PER_COUNTRY)) % ASNS;
    let asn = i32::try_from(1_000 + network * 13).expect("networks are numbered below 67,000");
    Client { country, city, asn }
}
