//! Fuzz target for the decoder of replies.

use super::protocol::{Reply, ReplyParser, reply};

/// The parser must find the same end of a reply however the bytes are divided, and the reply must
/// decode.
pub fn redis_replies(data: &[u8]) {
    let whole = ReplyParser::default().advance(data);
    let mut in_pieces = ReplyParser::default();
    let mut found = Ok(None);
    for end in 0..=data.len() {
        found = in_pieces.advance(&data[..end]);
        if !matches!(found, Ok(None)) {
            break;
        }
    }
    match (whole, found) {
        (Ok(Some(length)), Ok(Some(same))) => {
            assert_eq!(length, same, "the same end for any division of the bytes");
            assert!(length <= data.len());
            if let Ok(read) = reply(&data[..length]) {
                assert!(size(&read) <= length, "no more values than bytes");
            }
        }
        (Ok(Some(_)), Ok(None)) | (Ok(None), Ok(Some(_))) => {
            panic!("the end depends on the division of the bytes")
        }
        // A refusal may come sooner or later depending on the division.
        _ => {}
    }
}

/// The number of values in a reply.
fn size(of: &Reply) -> usize {
    match of {
        Reply::Bytes(Some(bytes)) => bytes.len() + 1,
        Reply::Several(Some(all)) => 1 + all.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// A reply of each kind, a nested one, and false lengths.
pub(crate) fn reply_seeds() -> Vec<Vec<u8>> {
    let seeds: [&[u8]; 10] = [
        b"+OK\r\n",
        b"-ERR unknown command\r\n",
        b":42\r\n",
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"*3\r\n:1\r\n$1\r\na\r\n*1\r\n+QUEUED\r\n",
        b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        b"$2000000000\r\n",
        b"*9223372036854775807\r\n",
    ];
    seeds.map(<[u8]>::to_vec).to_vec()
}
