//! Unix time as a date in UTC. It knows no clock.

/// `2026-11-29 23:10` for seconds since the Unix epoch.
///
/// Source of the calendar arithmetic: Howard Hinnant, chrono-compatible low-level date algorithms.
pub fn utc(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400);
    let second = seconds.rem_euclid(86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second % 3600 / 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_moments() {
        assert_eq!(super::utc(0), "1970-01-01 00:00");
        assert_eq!(super::utc(951_782_399), "2000-02-28 23:59");
        assert_eq!(super::utc(951_782_400), "2000-02-29 00:00");
        assert_eq!(super::utc(1_795_993_860), "2026-11-29 23:11");
        assert_eq!(super::utc(-1), "1969-12-31 23:59");
    }
}
