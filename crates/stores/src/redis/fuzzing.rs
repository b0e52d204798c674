//! The decoder of replies under any bytes.

use super::protocol::{Measure, Reply, reply};

/// The measure finds the end of a reply in whatever pieces it comes, and what it finds is decoded.
pub fn redis_replies(data: &[u8]) {
    let whole = Measure::default().advance(data);
    let mut in_pieces = Measure::default();
    let mut found = Ok(None);
    for end in 0..=data.len() {
        found = in_pieces.advance(&data[..end]);
        if !matches!(found, Ok(None)) {
            break;
        }
    }
    match (whole, found) {
        (Ok(Some(length)), Ok(Some(same))) => {
            assert_eq!(length, same, "one end, however the bytes come");
            assert!(length <= data.len());
            if let Ok(read) = reply(&data[..length]) {
                assert!(size(&read) <= length, "no more than its bytes");
            }
        }
        (Ok(Some(_)), Ok(None)) | (Ok(None), Ok(Some(_))) => {
            panic!("the end depends on the pieces in which the bytes come")
        }
        // A refusal may come sooner or later with the pieces, and nothing is lent then.
        _ => {}
    }
}

/// The values of a reply.
fn size(of: &Reply) -> usize {
    match of {
        Reply::Bytes(Some(bytes)) => bytes.len() + 1,
        Reply::Several(Some(all)) => 1 + all.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// One of each kind, one in another, and lengths that lie.
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
