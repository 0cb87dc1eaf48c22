import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeUtf8, sha256Of, toBase64, toHex } from '../../../core/bytes.ts'
import { formatVerifierKey } from '../../../core/log/note.ts'
import { parsePolicy } from '../../../core/verify/index.ts'

/** Each policy breaks one rule, and must be rejected because of it. */

const logKey = (fill: number, name = 'log.example/x'): string => formatVerifierKey(name, new Uint8Array(32).fill(fill))

function witnessKey(name: string, fill: number, type = 4): string {
  const bytes = Uint8Array.of(type, ...new Uint8Array(32).fill(fill))
  return `${name}+${toHex(sha256Of(encodeUtf8(`${name}\n`), bytes).subarray(0, 4))}+${toBase64(bytes)}`
}

const rejects = (text: string, why: RegExp): void =>
  assert.throws(() => parsePolicy(text), { code: 'VERIFICATION_FAILED', message: why }, text.slice(0, 200))

const [a, b] = [
  { name: 'a', vkey: witnessKey('a.example', 1) },
  { name: 'b', vkey: witnessKey('b.example', 2), url: 'https://b.example' },
]
const valid = {
  origin: 'log.example/x',
  keys: [
    { vkey: logKey(1), from: 1, until: 7 },
    { vkey: logKey(2), from: 8, until: null },
  ],
  witnesses: [a, b],
  groups: [{ name: 'both', threshold: 'all', members: ['a', 'b'] }],
  quorum: 'both',
  timestampAuthorities: [],
  timestampQuorum: 1,
  chains: [{ type: 'evm', network: 'eip155:1', chainId: 1, account: '0x00' }],
  extensions: { more: 1 },
}

describe('a policy in JSON', () => {
  it('is read with all its members', () => {
    const { keys, witnesses, timestampQuorum, chains } = parsePolicy(JSON.stringify(valid))
    assert.deepEqual(keys, valid.keys)
    const { name, vkey } = b
    assert.deepEqual(witnesses, { threshold: 1, members: [{ threshold: 2, members: [a, { name, vkey }] }] })
    assert.equal(timestampQuorum, 1)
    assert.deepEqual(chains, valid.chains)
  })

  const wrong = (change: object, why: RegExp): void => rejects(JSON.stringify({ ...valid, ...change }), why)
  const [key] = valid.keys

  it('rejects other forms', () => {
    rejects(`{"keys":[]}${' '.repeat(1_048_576)}`, /at most 1048576 characters/)
    rejects('{"keys":[],"keys":[]}', /strict JSON/)
    rejects('{', /strict JSON/)
    wrong({ more: 1 }, /The policy has the unknown member more/)
    wrong({ keys: [{ ...key, more: 1 }] }, /A key of the policy has the unknown member/)
    wrong({ witnesses: [{ ...a, more: 1 }, b] }, /A witness has the unknown member/)
    wrong({ groups: [{ ...valid.groups[0], more: 1 }] }, /A group has the unknown member/)
    wrong({ timestampAuthorities: [{ name: 'x', trustAnchors: [], more: 1 }] }, /A timestamp authority has the unknown/)
    wrong({ chains: [{ ...valid.chains[0], more: 1 }] }, /A chain has the unknown member/)
    wrong({ keys: {} }, /keys must be an array/)
    wrong({ keys: Array.from({ length: 1_025 }, () => key) }, /keys has more than 1024 items/)
    wrong({ witnesses: Array.from({ length: 257 }, () => a) }, /witnesses has more than 256 items/)
  })

  it('rejects keys that sign nothing, twice or for another log', () => {
    wrong({ keys: [] }, /no key/)
    wrong({ keys: [key, key] }, /a key twice/)
    wrong({ keys: [{ vkey: 'x' }] }, /Not .*verifier key/)
    rejects('{"keys":[{"vkey":"x"}]}', /Not .*verifier key/)
    wrong({ keys: [key, { vkey: logKey(3, 'other.example/x') }] }, /a key of another origin/)
    wrong({ keys: [{ ...key, from: 0 }] }, /from must be an integer >= 1/)
    wrong({ keys: [{ ...key, until: 0 }] }, /until must be an integer >= 1/)
    wrong({ keys: [{ ...key, until: '7' }] }, /until must be an integer/)
    wrong({ timestampQuorum: 0 }, /timestampQuorum must be an integer >= 1/)
  })

  it('rejects witnesses and groups that could count twice or not at all', () => {
    wrong({ witnesses: [a, { ...b, vkey: logKey(1) }] }, /the type 1: expected 4$/)
    wrong({ witnesses: [a, { ...b, vkey: witnessKey('b.example', 2, 6) }] }, /the type 6: expected 4$/)
    wrong({ witnesses: [a, { ...b, vkey: b.vkey.replace('b.example', 'c.example') }] }, /hash in the verifier key/)
    wrong({ witnesses: [a, { name: 'b', vkey: witnessKey('b.example', 1) }] }, /one key twice/)
    wrong({ witnesses: [a, { ...b, name: 'a' }] }, /defines the name a twice/)
    wrong({ witnesses: [a, b, { name: 'none', vkey: witnessKey('n.example', 3) }] }, /defines the name none twice/)
    const group = (change: object): object => ({ groups: [{ ...valid.groups[0], ...change }] })
    wrong(group({ name: 'a' }), /defines the name a twice/)
    wrong(group({ members: ['a', 'c'] }), /uses the name c before/)
    wrong(group({ members: ['a', 'a'] }), /uses a as a member twice/)
    for (const threshold of [0, 3, -1, 1.5, 'some', '01', null])
      wrong(group({ threshold }), /threshold of a group must be all, any or 1 to 2/)
    wrong({ quorum: 'c' }, /uses the name c before it is defined/)
  })

  it('rejects authorities and chains that are malformed', () => {
    wrong(
      { timestampAuthorities: [{ name: 'x', trustAnchors: ['no PEM'] }] },
      /trust anchors of x must be certificates/,
    )
    wrong({ timestampAuthorities: [{ name: 1, trustAnchors: [] }] }, /name of a timestamp authority must be a string/)
    for (const [name, value] of Object.entries({ type: 1, network: 1, chainId: -1, account: 1 }))
      wrong({ chains: [{ ...valid.chains[0], [name]: value }] }, new RegExp(`${name}.* must be`))
  })
})

describe('a policy in text', () => {
  const lines = [
    '# a comment',
    '',
    `log ${logKey(1)} https://log.example`,
    `witness a\t${a.vkey}`,
    `witness b ${b.vkey} https://b.example`,
    'group both all a b',
    'quorum both',
  ]
  const text = (change: (line: string) => string | readonly string[]): string => lines.flatMap(change).join('\n')
  /** The policy with one line replaced. */
  const wrong = (start: string, replacement: string | readonly string[], why: RegExp): void =>
    rejects(
      text((line) => (line.startsWith(start) ? replacement : line)),
      why,
    )

  it('is read as C2SP tlog-policy specifies', () => {
    const { keys, witnesses } = parsePolicy(text((line) => line))
    assert.deepEqual(keys, [{ vkey: logKey(1) }])
    assert.deepEqual(witnesses?.members, [{ threshold: 2, members: [a, { name: 'b', vkey: b.vkey }] }])
    const none = parsePolicy(`log ${logKey(1)}\nquorum none\n`)
    assert.deepEqual(none.witnesses, { threshold: 0, members: [] })
  })

  it('rejects lines of another form', () => {
    wrong('#', '# \u0007', /control character/)
    for (const line of [
      'log',
      `log ${logKey(1)} https://log.example more`,
      'witness a',
      `witness a ${a.vkey} https://a.example more`,
      'group both all',
      'quorum both more',
    ])
      wrong(line.split(' ')[0] ?? '', line, /is not a tlog-policy line/)
    wrong('#', 'other x', /Line 1 of the policy is not a tlog-policy line/)
  })

  it('rejects names and keys that are missing, twice or used too early', () => {
    wrong('quorum', [], /no quorum line/)
    wrong('quorum', ['quorum both', 'quorum a'], /two quorum lines/)
    wrong('log', [], /no log line/)
    wrong('log', 'log x', /Not .*verifier key/)
    wrong('log', [`log ${logKey(1)}`, `log ${logKey(1, 'other.example/x')}`], /one key twice/)
    wrong('witness b', `witness a ${b.vkey}`, /defines the name a twice/)
    wrong('witness b', `witness none ${b.vkey}`, /defines the name none twice/)
    wrong('witness b', `witness b ${witnessKey('c.example', 1)}`, /one key twice/)
    wrong('witness a', ['group early any b', lines[3] ?? ''], /uses the name b before it is defined/)
    wrong('group', 'group a all b', /defines the name a twice/)
    wrong('group', 'group both all a a', /as a member twice/)
    wrong('group', 'group both 3 a b', /threshold/)
    wrong('quorum', 'quorum c', /uses the name c before it is defined/)
  })
})
