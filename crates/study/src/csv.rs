//! Comma-separated values after RFC 4180: fields in double quotes may hold
//! commas, line ends and doubled quotes.

use crosstalk_core::Fault;

/// One record and the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub line: usize,
    pub fields: Vec<String>,
}

/// Every record of `text`, read at `place`; empty lines are skipped.
pub(crate) fn records(text: &str, place: &str) -> Result<Vec<Record>, Fault> {
    let mut records = Vec::new();
    let mut reader = Reader { rest: text, line: 1 };
    while !reader.rest.is_empty() {
        let line = reader.line;
        let fields = reader.record().map_err(|fault| fault.at(format!("{place}:{line}")))?;
        if fields.iter().any(|field| !field.is_empty()) || fields.len() > 1 {
            records.push(Record { line, fields });
        }
    }
    Ok(records)
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    /// Takes the fields up to the end of the line.
    fn record(&mut self) -> Result<Vec<String>, Fault> {
        let mut fields = Vec::new();
        loop {
            fields.push(match self.rest.strip_prefix('"') {
                Some(rest) => {
                    self.rest = rest;
                    self.quoted()?
                }
                None => self.take_until([',', '\n']).trim_end_matches('\r').to_string(),
            });
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
            } else if self.end_of_line() {
                return Ok(fields);
            } else {
                return Err(Fault::usage("expected a comma after a closing quote"));
            }
        }
    }

    /// Takes a field whose opening quote is taken, and its closing quote.
    fn quoted(&mut self) -> Result<String, Fault> {
        let mut field = String::new();
        loop {
            let text = self.take_until(['"']);
            self.line += text.matches('\n').count();
            field.push_str(text);
            let Some(rest) = self.rest.strip_prefix('"') else {
                return Err(Fault::usage("a quote is not closed"));
            };
            self.rest = rest;
            match self.rest.strip_prefix('"') {
                Some(rest) => self.rest = rest,
                None => return Ok(field),
            }
            field.push('"');
        }
    }

    fn take_until<const N: usize>(&mut self, ends: [char; N]) -> &'a str {
        let (taken, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Takes a line end, or finds the text's end.
    fn end_of_line(&mut self) -> bool {
        let rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
        if rest.is_empty() {
            self.rest = rest;
            return true;
        }
        rest.strip_prefix('\n').is_some_and(|rest| {
            self.rest = rest;
            self.line += 1;
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_hold_commas_quotes_and_line_ends() {
        let read = records("a,\"b,\"\"c\"\"\n\",d\r\n\n,e\n", "x.csv").expect("reads");
        assert_eq!(read[0].fields, ["a", "b,\"c\"\n", "d"]);
        assert_eq!((read[1].line, read[1].fields.as_slice()), (4, &["".to_string(), "e".to_string()][..]));
    }

    #[test]
    fn an_open_quote_is_placed_where_its_record_begins() {
        assert_eq!(records("a\n\"b\n", "x.csv").expect_err("refused").place.as_deref(), Some("x.csv:2"));
        assert!(records("\"a\"b,c\n", "x.csv").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(fields in proptest::collection::vec("[a,\"\n]{1,6}", 2..5)) {
            let line: Vec<_> = fields.iter().map(|f| format!("\"{}\"", f.replace('"', "\"\""))).collect();
            let read = records(&line.join(","), "x.csv").expect("reads");
            prop_assert_eq!(&read[0].fields, &fields);
        }

        #[test]
        fn no_text_panics(text in "[a,\"\r\n]{0,40}") {
            let _ = records(&text, "x.csv");
        }
    }
}
