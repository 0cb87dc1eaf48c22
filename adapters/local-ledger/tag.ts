/** T(x): ASCII padded with zeros to 16 bytes, so that bytes hashed or signed for one purpose never pass for another's. */
export function tag(text: string): Uint8Array {
  const out = new Uint8Array(16)
  out.set(Buffer.from(text, 'ascii'))
  return out
}
