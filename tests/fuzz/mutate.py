"""Changed inputs: a seed is changed in one to five ways, or grown from pieces that readers trip over."""

import random

PIECES = [
    *[b"\0", b"\t", b"\r\n", b"\n", b"\r", b" ", b"|||", b" ||| ", b"-", b"p", b":", b"?", b"\x1f", b"\x0b"],
    *[b"\xff\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90"],
    *[b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"2147483648", b"9223372036854775808", b"9" * 5000],
    *[b"NULL", b"{", b"}", b"[", b"]", b'"', b"\\u0000", b"\\ud800", b"null", b"true", b"1_0", b"\xd9\xa1"],
    *[b"<tu>", b"</tu>", b"<seg>", b"</tuv>", b"&#x1F;", b"&nbsp;", b"&#0;", b"<!--", b"]]>", b"<![CDATA["],
    *[b'<!DOCTYPE a [<!ENTITY b "c">]>', b"&b;", b"<?xml version='1.1' encoding='utf-16'?>", b"xml:lang"],
    *[b"../", b"/etc/passwd", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"(\xb5/\xfd", b"PK\x03\x04", b"BZh9"],
    *[b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: x\r\n", b"HTTP/9.9"],
]  # fmt: skip


def changed(seed: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Return a changed copy of one of several seeds."""
    data = bytearray(seed)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        at = chance.randrange(len(data) + 1)
        size = min(len(data) - at, int(2 ** chance.uniform(0, 10)))
        match chance.randrange(9):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
            case 1 if data:
                data[min(at, len(data) - 1)] = chance.choice([0, 1, 9, 10, 32, 45, 127, 128, 254, 255])
            case 2:
                data[at:at] = chance.choice(PIECES)
            case 3:
                data[at : at + size] = b""
            case 4:
                data[at:] = b""
            case 5:
                data[at:at] = data[at : at + size] * chance.choice([1, 1, 2, 50])
            case 6:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data[at : at + size] = other[start : start + size]
            case 7:
                data[at : at + size] = chance.randbytes(size)
            case _:
                lines = bytes(data).split(b"\n")
                chance.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data[: 1 << 20])
