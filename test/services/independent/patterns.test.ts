import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { BASE_PATH } from '../../../server/index.ts'
import { serviceFor } from '../../support/service.ts'
import { temporaryFor } from '../../support/temporary.ts'

const hasTools = spawnSync('python3', ['--version']).status === 0 && spawnSync('go', ['version']).status === 0
const skip = hasTools ? false : 'python3 and Go are missing: apt-get install python3 golang-go'

/** Both read `{patterns, texts}`, and write a list of booleans for each pattern. */
const PYTHON = `
import json, re, sys
given = json.load(sys.stdin)
print(json.dumps([[bool(re.search(p, t)) for t in given["texts"]] for p in given["patterns"]]))
`
/** Its regexp is RE2. */
const GO = `
package main
import ("encoding/json"; "os"; "regexp")
func main() {
  var given struct { Patterns, Texts []string }
  json.NewDecoder(os.Stdin).Decode(&given)
  results := [][]bool{}
  for _, pattern := range given.Patterns {
    compiled, row := regexp.MustCompile(pattern), []bool{}
    for _, text := range given.Texts { row = append(row, compiled.MatchString(text)) }
    results = append(results, row)
  }
  json.NewEncoder(os.Stdout).Encode(results)
}
`

/** Texts that at least one pattern describes. */
const FITTING = [
  '01890a5d-ac96-774b-bcce-b302099a8057',
  '01890A5D-AC96-774B-BCCE-B302099A8057',
  ...[64, 96, 240].map((length) => '0f'.repeat(length / 2)),
  `0x${'aF'.repeat(32)}`,
  '2027-01-31T12:00:00.000Z',
  '2027-01-31',
  'YWJjZA==',
  '-1f',
  '1-100',
  'a-key-of-the-tests',
  '"minute";r=1;t=2',
  '"minute";q=1;w=2',
  '"1-abc"',
  'GET, HEAD',
  'bytes 0-1/2',
  'attachment; filename="a"',
  'ApiKey',
  '/path',
]
/** Where engines differ: ends of lines, digits and letters of other scripts, characters of two UTF-16 units. */
const ODD = [
  '',
  '\n',
  '\n\n',
  '\r',
  '\u2028',
  '\0',
  '\t',
  '\x1f',
  '\x7f',
  '\x9f',
  '\xa0',
  'ä',
  'ſ',
  '٣',
  '😀',
  '-',
  '.',
]
const TEXTS = [
  'Grace',
  'Carl',
  'größer',
  'a/b',
  'x'.repeat(1_001),
  '0a'.repeat(16_384),
  '😀'.repeat(1_001),
  ...['', ...FITTING].flatMap((text) => ODD.flatMap((odd) => [text + odd, odd + text])),
]

function patternsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) =>
    name === 'pattern' && typeof each === 'string' ? [each] : patternsIn(each),
  )
}

it('every pattern of the OpenAPI document means the same in JavaScript, Python and RE2', { skip }, async (t) => {
  const directory = await temporaryFor(t)
  const service = await serviceFor(t)
  const document: unknown = await (await service.fetch(`${BASE_PATH}/openapi.json?json=1`)).json()
  const patterns = [...new Set(patternsIn(document))]
  assert.ok(patterns.length > 20)
  const resultsOf = (expression: (pattern: string) => RegExp): readonly (readonly boolean[])[] =>
    patterns.map((pattern) => TEXTS.map((text) => expression(pattern).test(text)))
  const expected = resultsOf((pattern) => new RegExp(pattern, 'u'))
  for (const row of expected) assert.ok(row.includes(true) && row.includes(false), 'the texts try a pattern')
  assert.deepEqual(
    resultsOf((pattern) => new RegExp(pattern)),
    expected,
  )
  await writeFile(join(directory, 'patterns.py'), PYTHON)
  await writeFile(join(directory, 'patterns.go'), GO)
  for (const [program, ...args] of [
    ['python3', join(directory, 'patterns.py')],
    ['go', 'run', join(directory, 'patterns.go')],
  ] as const) {
    const input = JSON.stringify({ patterns, texts: TEXTS })
    const env = { ...process.env, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: join(directory, 'cache') }
    const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    const found = JSON.parse(stdout) as readonly (readonly boolean[])[]
    for (const [i, row] of found.entries())
      for (const [k, isMatch] of row.entries())
        assert.equal(isMatch, expected[i]?.[k], `${program}: ${patterns[i]}: ${JSON.stringify(TEXTS[k]?.slice(0, 99))}`)
  }
})
