//! The names of the CDN's world: hosts, paths, agents, referrers, places.
//!
//! Invariant: a name is a function of its rank alone, is unique in its list, and never depends on
//! the seed, so that a test can know that it exists. Every host is under the reserved `.example`
//! domain and every IPv6 address under the documentation prefix. Left out: how often each occurs.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::pool::{Pool, push_hex, push_number};
use super::random::{below, mix};

/// Number of different hosts.
pub const HOSTS: u32 = 2_000;
/// Number of different paths.
pub const PATHS: u32 = 200_000;
/// Number of different client addresses.
pub const CLIENTS: u32 = 400_000;
/// Number of different user agents.
pub const USER_AGENTS: u32 = 3_000;
/// Number of different referrers.
pub const REFERERS: u32 = 20_000;
/// Number of different cities.
pub const CITIES: u32 = 4_000;
/// Number of different countries.
pub const COUNTRIES: u32 = 195;
/// Number of different autonomous systems.
pub const ASNS: u32 = 5_000;
/// Number of points of presence.
pub const POPS: u32 = 120;
/// Servers in each point of presence.
pub const SERVERS_PER_POP: u32 = 20;

/// Request methods and their shares in percent.
pub(super) const METHODS: [(&str, f64); 7] = [
    ("GET", 90.0),
    ("POST", 7.0),
    ("HEAD", 1.5),
    ("OPTIONS", 0.6),
    ("PUT", 0.5),
    ("DELETE", 0.3),
    ("PATCH", 0.1),
];

/// Response statuses and their shares in percent.
pub(super) const STATUSES: [(i16, f64); 14] = [
    (200, 86.0),
    (304, 5.0),
    (404, 3.0),
    (301, 1.5),
    (206, 1.2),
    (302, 1.0),
    (403, 0.8),
    (499, 0.5),
    (429, 0.3),
    (400, 0.3),
    (500, 0.18),
    (502, 0.1),
    (503, 0.08),
    (504, 0.04),
];

/// What the cache did, and the shares in percent.
pub(super) const CACHE_STATUSES: [(&str, f64); 7] = [
    ("HIT", 72.0),
    ("MISS", 16.0),
    ("EXPIRED", 4.0),
    ("REVALIDATED", 3.0),
    ("STALE", 2.0),
    ("BYPASS", 2.0),
    ("DYNAMIC", 1.0),
];

/// Protocols and their shares in percent.
pub(super) const PROTOCOLS: [(&str, f64); 3] = [("h2", 53.0), ("h3", 25.0), ("HTTP/1.1", 22.0)];

/// Content types by rank.
pub(super) const CONTENT_TYPES: [&str; 40] = [
    "image/webp",
    "text/html; charset=utf-8",
    "application/javascript",
    "application/json",
    "image/jpeg",
    "text/css",
    "image/png",
    "font/woff2",
    "video/mp2t",
    "image/svg+xml",
    "application/octet-stream",
    "image/avif",
    "video/mp4",
    "application/vnd.apple.mpegurl",
    "image/gif",
    "text/plain",
    "application/xml",
    "application/pdf",
    "audio/mpeg",
    "font/woff",
    "application/zip",
    "image/x-icon",
    "application/manifest+json",
    "text/xml",
    "application/dash+xml",
    "video/webm",
    "application/wasm",
    "application/rss+xml",
    "audio/mp4",
    "text/event-stream",
    "application/grpc",
    "application/ld+json",
    "audio/ogg",
    "font/ttf",
    "text/csv",
    "application/x-protobuf",
    "image/bmp",
    "text/vtt",
    "application/gzip",
    "multipart/byteranges",
];

/// ISO 3166 codes of the 195 countries, those with most traffic first.
const COUNTRY_CODES: &str = "US IN BR DE GB JP FR ID CN RU MX IT ES TR KR CA VN PH PL TH EG AR NL \
    AU CO UA MY ZA SA IR PK BD NG RO SE BE CL PE CZ PT MA GR DZ KE AT CH HU IL AE SG DK FI NO IE \
    KZ IQ LK EC VE SK BG RS HR BY UZ DO GT TN AZ BO CR GH JO NP ET LT SI LV EE UY PA PY SV HN CU \
    LB KW OM QA BH LY SY YE AF MM KH LA MN KG TJ TM GE AM MD AL MK BA ME CY MT LU IS TZ UG ZM ZW \
    MZ AO CM CI SN ML BF NE TD SD SS ER DJ SO RW BI CD CG GA GQ CF TG BJ LR SL GN GW GM CV MR ST \
    KM SC MU MG MW BW NA SZ LS JM TT BB BS GD LC VC AG DM KN HT NI BZ GY SR BN TL PG FJ SB VU WS \
    TO TV KI NR PW FM MH MV BT KP AD MC SM LI VA PS NZ";

const SITE_FIRST: &str = "amber bright north silver quick blue open clear river stone solar green \
    urban cedar prime rapid lunar coral bold swift maple delta echo metro vivid alpine nova atlas \
    crown ember frost glade haven iris jade koi lotus mango neon ocean pearl quartz raven sable \
    tidal umber violet willow zenith arctic";
const SITE_SECOND: &str = "shop news media games bank cloud video music travel sports health maps \
    mail forum photo store radio press learn jobs food auto home style kids pets art film docs \
    chat play feed labs works data code farm club port hub";
const SUBDOMAINS: [&str; 6] = ["www", "cdn", "img", "api", "static", "media"];
const WORDS: [&str; 16] = [
    "app", "main", "vendor", "theme", "hero", "cart", "user", "order", "price", "search", "live",
    "daily", "market", "guide", "summer", "review",
];
const CITY_FIRST: &str = "Bel Nor San Kar Mon Lin Ald Vel Tor Hel Mar Ros Dun Cas Fal Gra Ost Pen \
    Wil Zar";
const CITY_SECOND: &str = "ba co du fe ga hi jo ka lu me ni po qu ra si ta ul va wo xe";
const CITY_LAST: &str = "burg ford ton ville grad stad mouth haven minster field";
/// In the order of [`COUNTRY_CODES`], so that a country's points of presence lie in or near it.
const AIRPORTS: &str = "iad ord dfw bom del maa gru gig fra muc lhr man nrt kix cdg cgk hkg svo \
    mex mxp mad ist icn yyz mnl waw bkk ams syd kul jnb khi los bru lim lis ath zrh sin hel cmb bud \
    tas acc amm pty mia dxb nbo cpt eze bog lax sea akl arn vie otp dub mel";

/// Returns the words of one of the lists above.
fn words(list: &'static str) -> Vec<&'static str> {
    list.split_ascii_whitespace().collect()
}

/// Returns the word at a position that wraps around.
fn word(list: &[&'static str], position: u64) -> &'static str {
    let count = u64::try_from(list.len()).expect("a length fits 64 bits");
    list[usize::try_from(position % count).expect("a position in a list fits")]
}

/// Returns all hosts by rank.
pub(super) fn hosts() -> Pool {
    let (first, second) = (words(SITE_FIRST), words(SITE_SECOND));
    Pool::new(HOSTS, |rank, text| {
        let number = u64::from(rank);
        text.push_str(word(&SUBDOMAINS, mix(number) >> 8));
        text.push('.');
        text.push_str(word(&first, number));
        text.push_str(word(&second, number / 50));
        text.push_str(".example");
    })
}

/// Returns all paths by rank.
pub(super) fn paths() -> Pool {
    Pool::new(PATHS, |rank, text| push_path(u64::from(rank), text))
}

/// Appends the path of this rank, 10 to 40 characters.
fn push_path(rank: u64, text: &mut String) {
    let hash = mix(rank ^ 0x7061_7468);
    let (one, other) = (word(&WORDS, hash >> 8), word(&WORDS, hash >> 16));
    match hash % 6 {
        0 => {
            text.push_str("/assets/js/");
            text.push_str(one);
            text.push('-');
            push_number(text, rank);
            text.push('.');
            push_hex(text, hash >> 24, 8);
            text.push_str(".js");
        }
        1 => {
            text.push_str("/assets/css/");
            text.push_str(one);
            text.push('.');
            push_number(text, rank);
            text.push_str(".css");
        }
        2 => {
            text.push_str("/img/");
            push_hex(text, hash >> 24, 2);
            text.push('/');
            push_number(text, rank);
            text.push_str(if hash & 64 == 0 { ".webp" } else { ".jpg" });
        }
        3 => {
            text.push_str("/api/v2/");
            text.push_str(one);
            text.push('/');
            push_number(text, rank);
        }
        4 => {
            text.push_str("/video/");
            push_hex(text, hash >> 24, 6);
            text.push_str("/seg-");
            push_number(text, rank);
            text.push_str(".ts");
        }
        _ => {
            text.push('/');
            text.push_str(one);
            text.push('/');
            text.push_str(other);
            text.push('-');
            push_number(text, rank);
        }
    }
}

/// Returns the client address of this rank; every twentieth is IPv6.
#[must_use]
pub fn client_ip(rank: u32) -> String {
    let mut text = String::new();
    push_client(rank, &mut text);
    text
}

/// Returns all client addresses by rank.
pub(super) fn clients() -> Pool {
    Pool::new(CLIENTS, push_client)
}

fn push_client(rank: u32, text: &mut String) {
    // An odd factor permutes the numbers below 2^24, so addresses stay unique and look spread.
    let spread = (rank + 1).wrapping_mul(0x9E_3779) & 0xFF_FFFF;
    let written = if rank % 20 == 7 {
        let [_, a, b, c] = spread.to_be_bytes();
        let parts = [u16::from(a) + 1, u16::from_be_bytes([b, c])];
        write!(text, "{}", Ipv6Addr::new(0x2001, 0xdb8, parts[0], parts[1], 0, 0, 0, 1))
    } else {
        let [_, a, b, c] = spread.to_be_bytes();
        // 20 to 91 as the first part: neither private nor loopback nor multicast.
        write!(text, "{}", Ipv4Addr::new(20 + a % 72, a, b, c))
    };
    written.expect("writing to a string does not fail");
}

/// Returns all user agents by rank, about 120 characters each.
pub(super) fn user_agents() -> Pool {
    Pool::new(USER_AGENTS, |rank, text| {
        let (family, version) = (rank % 5, rank / 5);
        let (major, build) = (80 + version % 60, 3000 + version * 7);
        let written = match family {
            0 => write!(
                text,
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/{major}.0.{build}.{version} Safari/537.36"
            ),
            1 => write!(
                text,
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_{major} like Mac OS X) AppleWebKit/605.1.15 \
                 (KHTML, like Gecko) Mobile/15E{build} Safari/604.1"
            ),
            2 => write!(
                text,
                "Mozilla/5.0 (Linux; Android 14; SM-G{build}) AppleWebKit/537.36 (KHTML, like \
                 Gecko) Chrome/{major}.0.0.0 Mobile Safari/537.36"
            ),
            3 => write!(
                text,
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.{build} (KHTML, \
                 like Gecko) Version/17.{major} Safari/605.1.15"
            ),
            _ => write!(
                text,
                "Mozilla/5.0 (compatible; examplebot/2.{version}; +https://crawler.example/bot) \
                 AppleWebKit/537.36 Chrome/{major}.0 Safari/537.36"
            ),
        };
        written.expect("writing to a string does not fail");
    })
}

/// Returns all referrers by rank.
pub(super) fn referers() -> Pool {
    let hosts = hosts();
    Pool::new(REFERERS, |rank, text| {
        text.push_str("https://");
        text.push_str(hosts.get(below(mix(u64::from(rank)), HOSTS)));
        text.push('/');
        text.push_str(word(&WORDS, u64::from(rank)));
        text.push('/');
        push_number(text, u64::from(rank));
    })
}

/// Returns all cities; a city's country is its number modulo the number of countries.
pub(super) fn cities() -> Pool {
    let lists = [words(CITY_FIRST), words(CITY_SECOND), words(CITY_LAST)];
    Pool::new(CITIES, |rank, text| {
        // An odd factor that shares no divisor with 4,000 spreads neighbours over the syllables.
        let number = u64::from(rank) * 1_237 % u64::from(CITIES);
        text.push_str(word(&lists[0], number));
        text.push_str(word(&lists[1], number / 20));
        text.push_str(word(&lists[2], number / 400));
    })
}

/// Returns all country codes by rank.
pub(super) fn countries() -> Pool {
    let codes = words(COUNTRY_CODES);
    Pool::new(COUNTRIES, |rank, text| text.push_str(codes[rank as usize]))
}

/// Returns all points of presence: two in each of sixty cities.
pub(super) fn pops() -> Pool {
    let airports = words(AIRPORTS);
    Pool::new(POPS, |rank, text| {
        text.push_str(word(&airports, u64::from(rank / 2)));
        push_number(text, u64::from(rank % 2 + 1));
    })
}

/// Returns all servers; the servers of a point of presence stand together.
pub(super) fn servers() -> Pool {
    let pops = pops();
    Pool::new(POPS * SERVERS_PER_POP, |number, text| {
        text.push_str(pops.get(number / SERVERS_PER_POP));
        text.push_str("-edge-");
        let server = number % SERVERS_PER_POP + 1;
        if server < 10 {
            text.push('0');
        }
        push_number(text, u64::from(server));
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[track_caller]
    fn check(pool: &Pool, count: u32, lengths: std::ops::RangeInclusive<usize>) {
        let names: HashSet<&str> = (0..count).map(|rank| pool.get(rank)).collect();
        assert_eq!(names.len(), count as usize, "names are unique");
        for name in names {
            assert!(lengths.contains(&name.len()), "{name} has {} characters", name.len());
        }
    }

    #[test]
    fn names_are_unique_and_of_their_length() {
        check(&hosts(), HOSTS, 15..=32);
        check(&paths(), PATHS, 10..=40);
        check(&clients(), CLIENTS, 8..=24);
        check(&user_agents(), USER_AGENTS, 100..=140);
        check(&referers(), REFERERS, 25..=60);
        check(&cities(), CITIES, 8..=12);
        check(&countries(), COUNTRIES, 2..=2);
        check(&pops(), POPS, 4..=4);
        check(&servers(), POPS * SERVERS_PER_POP, 12..=12);
        assert_eq!(words(COUNTRY_CODES).len(), COUNTRIES as usize);
    }

    #[test]
    fn shares_add_up() {
        #[track_caller]
        fn check<T>(shares: &[(T, f64)]) {
            let sum: f64 = shares.iter().map(|(_, share)| share).sum();
            assert!((sum - 100.0).abs() < 1e-9, "{sum}");
        }
        check(&METHODS);
        check(&STATUSES);
        check(&CACHE_STATUSES);
        check(&PROTOCOLS);
    }
}
