const LINE_FEED = 0x0a

/**
 * Yields the lines of a file, those of each chunk together. The last line may lack its end.
 *
 * @param tooLong - the error for a line of more than `maxBytes`
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLong: (line: number) => Error,
): AsyncGenerator<readonly Uint8Array[]> {
  let rest: Uint8Array = new Uint8Array()
  let count = 0
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = []
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, at)) {
      lines.push(bytes.subarray(at, end))
      at = end + 1
    }
    count += lines.length
    rest = bytes.subarray(at)
    if (rest.length > maxBytes) throw tooLong(count + 1)
    yield lines
  }
  if (rest.length > 0) yield [rest]
}
