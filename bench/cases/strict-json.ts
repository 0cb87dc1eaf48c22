import { parseStrictJson } from '../../core/index.ts'
import { formatFinding, median, roundFigure, type BenchCase, type Row } from '../run/case.ts'

const ROUNDS = 9

/** What clients send, and texts that cost a strict parser most. `count` scales the size. */
const documents = (count: number): Readonly<Record<string, string>> => ({
  'one evidence': JSON.stringify(evidence(1)),
  'a bulk create': JSON.stringify(Array.from({ length: count / 20 }, (_, i) => evidence(i))),
  'small objects': JSON.stringify(Array.from({ length: count }, (_, i) => ({ a: i, b: i + 1, c: null }))),
  'small integers': JSON.stringify(Array.from({ length: count * 10 }, () => 1)),
  'texts with escapes': JSON.stringify(Array.from({ length: count }, () => 'one "quoted"\nline\t\u0001')),
  'texts in Japanese': JSON.stringify(Array.from({ length: count }, () => '日本語のテキスト')),
  'decimals of 6 digits': JSON.stringify(Array.from({ length: count }, (_, i) => Number((i / 7).toFixed(5)))),
  'decimals of 17 digits': JSON.stringify(Array.from({ length: count }, (_, i) => Math.sin(i))),
  'small decimals with an exponent': JSON.stringify(Array.from({ length: count }, (_, i) => Math.sin(i) / 1e8)),
  'short decimals with an exponent': JSON.stringify(Array.from({ length: count }, (_, i) => (i % 1_000) / 1e10)),
  'a base64 image': JSON.stringify({ image: { mimeType: 'image/png', data: 'QUJD'.repeat(count * 10) } }),
})

const evidence = (i: number) => ({
  externalId: `WVWZZZ1JZXW${i}`,
  name: 'Golf',
  owner: 'Ada Lovelace',
  description: 'A car with four wheels, kept in a garage since it was bought',
  meta: { colour: 'blue', year: 2_026, weightKg: 1_234.5, tags: ['first owner', 'serviced'] },
})

/**
 * Strict parsing of request bodies, against `JSON.parse` of the same texts.
 *
 * Fair because both parse the same text in turns, and the median of several rounds counts. `JSON.parse` accepts what
 * strict parsing must find: duplicate keys, rounded numbers, lone surrogates.
 */
export const strictJson: BenchCase = {
  name: 'strict-json',
  measures: 'parseStrictJson against JSON.parse, on documents that clients send and on costly ones',
  columns: {
    document: 'document',
    megabytes: 'size, MB',
    jsonParseMs: 'JSON.parse, ms',
    strictMs: 'strict, ms',
    ratio: 'times the time of JSON.parse',
  },
  run: ({ quick, progress }) => {
    const count = quick ? 1_000 : 50_000
    const rows: Row[] = Object.entries(documents(count)).map(([document, text]) => {
      progress(document)
      const { jsonParseMs, strictMs } = measure(text, quick ? 1 : ROUNDS)
      return {
        document,
        megabytes: roundFigure(text.length / 1e6),
        jsonParseMs: roundFigure(jsonParseMs),
        strictMs: roundFigure(strictMs),
        ratio: roundFigure(strictMs / jsonParseMs),
      }
    })
    const findings = { worstRatio: Math.max(...rows.map(({ ratio }) => Number(ratio))) }
    return Promise.resolve({ settings: { count }, rows, findings })
  },
  conclude: (result) =>
    `Strict parsing takes at most ${formatFinding(result, 'worstRatio')} times the time of JSON.parse on these documents.`,
}

/** The time of one parse, in ms. Short texts are parsed many times. */
function measure(text: string, rounds: number): { readonly jsonParseMs: number; readonly strictMs: number } {
  const repeats = Math.max(1, Math.ceil(200_000 / text.length))
  const time = (parse: (text: string) => unknown): number => {
    const startMs = performance.now()
    for (let i = 0; i < repeats; i++) parse(text)
    return (performance.now() - startMs) / repeats
  }
  const [plain, strict]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    plain.push(time(JSON.parse))
    strict.push(time(parseStrictJson))
  }
  return { jsonParseMs: median(plain), strictMs: median(strict) }
}
