import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { concatBytes, encodeUtf8, fromHex, sha256Of, toBase64, toHex } from '../../../core/bytes.ts'
import { formatVerifierKey } from '../../../core/log/verifier-key.ts'
import { certificatesFromPem, parsePolicy, type VerificationRule } from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'

/** Each policy breaks one rule, and must be rejected because of it. */

const logKey = (fill: number, name = 'log.example/x'): string => formatVerifierKey(name, new Uint8Array(32).fill(fill))

function witnessKey(name: string, fill: number, type = 4): string {
  const bytes = Uint8Array.of(type, ...new Uint8Array(32).fill(fill))
  return `${name}+${toHex(sha256Of(encodeUtf8(`${name}\n`), bytes).subarray(0, 4))}+${toBase64(bytes)}`
}

const rejects = (text: string, rule: VerificationRule): void =>
  assert.throws(() => parsePolicy(text), { code: 'VERIFICATION_FAILED', rule }, text.slice(0, 200))

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

  const wrong = (change: object, rule: VerificationRule): void => rejects(JSON.stringify({ ...valid, ...change }), rule)
  const [key] = valid.keys

  it('rejects other forms', () => {
    rejects(`{"keys":[]}${' '.repeat(1_048_576)}`, 'form.length')
    rejects('{"keys":[],"keys":[]}', 'form.json')
    rejects('{', 'form.json')
    for (const newer of [{ more: 1 }, { version: 2 }]) wrong(newer, 'document.newer')
    wrong({ keys: [{ ...key, more: 1 }] }, 'form.members')
    wrong({ witnesses: [{ ...a, more: 1 }, b] }, 'form.members')
    wrong({ witnesses: [{ ...a, ranges: [{ from: 0, until: null }] }, b] }, 'form.value')
    wrong({ groups: [{ ...valid.groups[0], more: 1 }] }, 'form.members')
    wrong({ timestampAuthorities: [{ name: 'x', trustAnchors: [], more: 1 }] }, 'form.members')
    wrong({ chains: [{ ...valid.chains[0], more: 1 }] }, 'form.members')
    wrong({ keys: {} }, 'form.value')
    wrong({ keys: Array.from({ length: 1_025 }, () => key) }, 'form.length')
    wrong({ witnesses: Array.from({ length: 1_025 }, () => a) }, 'form.length')
  })

  it('rejects keys that sign nothing, twice or for another log', () => {
    wrong({ keys: [] }, 'policy.keys')
    wrong({ keys: [key, key] }, 'policy.keys')
    wrong({ keys: [{ vkey: 'x' }] }, 'keys.malformed')
    rejects('{"keys":[{"vkey":"x"}]}', 'keys.malformed')
    wrong({ keys: [key, { vkey: logKey(3, 'other.example/x') }] }, 'policy.keys')
    wrong({ keys: [{ ...key, from: 0 }] }, 'form.value')
    wrong({ keys: [{ ...key, until: 0 }] }, 'form.value')
    wrong({ keys: [{ ...key, until: '7' }] }, 'form.value')
    wrong({ timestampQuorum: 0 }, 'form.value')
  })

  it('rejects witnesses and groups that could count twice or not at all', () => {
    wrong({ witnesses: [a, { ...b, vkey: b.vkey.replace('b.example', 'c.example') }] }, 'keys.malformed')
    wrong({ witnesses: [a, { name: 'b', vkey: witnessKey('b.example', 1) }] }, 'policy.keys')
    wrong({ witnesses: [a, { ...b, name: 'a' }] }, 'policy.names')
    wrong({ witnesses: [a, b, { name: 'none', vkey: witnessKey('n.example', 3) }] }, 'policy.names')
    const group = (change: object): object => ({ groups: [{ ...valid.groups[0], ...change }] })
    wrong(group({ name: 'a' }), 'policy.names')
    wrong(group({ members: ['a', 'c'] }), 'policy.names')
    wrong(group({ members: ['a', 'a'] }), 'policy.names')
    for (const threshold of [0, 3, -1, 1.5, 'some', '01', null, ['all'], [1]])
      wrong(group({ threshold }), 'policy.quorum')
    wrong({ quorum: 'c' }, 'policy.names')
  })

  it('keeps keys of types that cannot be used, in text as well', () => {
    const [log, witness] = [witnessKey(valid.origin, 5, 6), witnessKey('b.example', 2, 7)]
    const json = { ...valid, keys: [key, { vkey: log }], witnesses: [a, { name: 'b', vkey: witness }] }
    const lines = `witness a ${a.vkey}\nwitness b ${witness}\ngroup both all a b\nquorum both`
    const text = `log ${logKey(1)}\nlog ${log}\n${lines}`
    for (const each of [JSON.stringify(json), `\uFEFF${JSON.stringify(json)}`, text, `\uFEFF${text}`]) {
      const { keys, witnesses } = parsePolicy(each)
      const vkeys = keys.map(({ vkey }) => vkey)
      assert.deepEqual(vkeys, [logKey(1), log])
      assert.deepEqual(witnesses?.members, [{ threshold: 2, members: [a, { name: 'b', vkey: witness }] }])
    }
    wrong({ keys: [key, { vkey: log }, { vkey: log }] }, 'policy.keys')
    wrong(
      {
        witnesses: [
          { ...a, vkey: witness },
          { ...b, vkey: witness },
        ],
      },
      'policy.keys',
    )
  })

  it('rejects keys of logs and witnesses that are not canonical or of small order', () => {
    const zeros = '00'.repeat(30)
    const points = [
      `00${zeros}00`,
      `01${zeros}00`,
      `01${zeros}80`,
      `00${zeros}80`,
      ...['7f', 'ff'].flatMap((last) => ['ec', 'ed', 'ee', 'ff'].map((first) => `${first}${'ff'.repeat(30)}${last}`)),
      '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    ]
    for (const point of points) {
      const vkeyOf = (name: string, type: number): string => {
        const typed = concatBytes(Uint8Array.of(type), present(fromHex(point)))
        return `${name}+${toHex(sha256Of(encodeUtf8(`${name}\n`), typed)).slice(0, 8)}+${toBase64(typed)}`
      }
      wrong({ keys: [{ vkey: vkeyOf(valid.origin, 1) }] }, 'keys.malformed')
      wrong({ witnesses: [a, { ...b, vkey: vkeyOf('b.example', 4) }] }, 'keys.malformed')
    }
    // ML-DSA-44 has longer ones.
    wrong({ witnesses: [a, { ...b, vkey: witnessKey('b.example', 2, 6) }] }, 'keys.malformed')
  })

  it('rejects authorities and chains that are malformed', () => {
    wrong({ timestampAuthorities: [{ name: 'x', trustAnchors: ['no PEM'] }] }, 'form.value')
    wrong({ timestampAuthorities: [{ name: 1, trustAnchors: [] }] }, 'form.value')
    for (const [name, value] of Object.entries({ type: 1, network: 1, chainId: '1', account: 1 }))
      wrong({ chains: [{ ...valid.chains[0], [name]: value }] }, 'form.value')
    wrong({ chains: [{ ...valid.chains[0], chainId: -1 }] }, 'value.malformed')
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
  const wrong = (start: string, replacement: string | readonly string[], rule: VerificationRule): void =>
    rejects(
      text((line) => (line.startsWith(start) ? replacement : line)),
      rule,
    )

  it('is read as C2SP tlog-policy specifies', () => {
    const { keys, witnesses, requiresWitnesses } = parsePolicy(text((line) => line))
    assert.deepEqual(keys, [{ vkey: logKey(1) }])
    assert.deepEqual([requiresWitnesses, parsePolicy(JSON.stringify(valid)).requiresWitnesses], [true, undefined])
    assert.deepEqual(witnesses?.members, [{ threshold: 2, members: [a, { name: 'b', vkey: b.vkey }] }])
    const none = parsePolicy(`log ${logKey(1)}\nquorum none\n`)
    assert.deepEqual([none.witnesses, none.requiresWitnesses], [{ threshold: 0, members: [] }, false])
    assert.deepEqual(parsePolicy(`\uFEFFlog ${logKey(1)}\r\nquorum none\r\n`), none)
  })

  it('rejects lines of another form', () => {
    for (const control of ['\u0007', '\u0085', '\r#']) wrong('#', `# ${control}`, 'policy.line')
    for (const line of [
      'log',
      `log ${logKey(1)} https://log.example more`,
      'witness a',
      `witness a ${a.vkey} https://a.example more`,
      'group both all',
      'quorum both more',
    ])
      wrong(line.split(' ')[0] ?? '', line, 'policy.line')
    wrong('#', 'other x', 'policy.line')
  })

  it('rejects names and keys that are missing, twice or used too early', () => {
    wrong('quorum', [], 'policy.quorum')
    wrong('quorum', ['quorum both', 'quorum a'], 'policy.quorum')
    wrong('log', [], 'policy.keys')
    wrong('log', 'log x', 'keys.malformed')
    wrong('log', [`log ${logKey(1)}`, `log ${logKey(1, 'other.example/x')}`], 'policy.keys')
    wrong('witness b', `witness a ${b.vkey}`, 'policy.names')
    wrong('witness b', `witness none ${b.vkey}`, 'policy.names')
    wrong('witness b', `witness b ${witnessKey('c.example', 1)}`, 'policy.keys')
    wrong('witness a', ['group early any b', lines[3] ?? ''], 'policy.names')
    wrong('group', 'group a all b', 'policy.names')
    wrong('group', 'group both all a a', 'policy.names')
    wrong('group', 'group both 3 a b', 'policy.quorum')
    wrong('quorum', 'quorum c', 'policy.names')
  })
})

describe('certificates in PEM', () => {
  const block = (base64: string): string => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`

  it('are all read, or the error says which one is not', () => {
    const pem = `first\n${block('MAMC\r\nAQU=')}-----BEGIN X-----\n!\n-----END X-----\n${block('MAMCAQY=')}`
    assert.deepEqual(certificatesFromPem(pem).map(toHex), ['3003020105', '3003020106'])
    const cut = '-----BEGIN CERTIFICATE-----\nMAMCAQY=\n'
    for (const second of [block('MA!CAQY='), block('MAMCAQYA'), block('MAQCAQY='), block('AgEF'), block(''), cut])
      assert.throws(() => certificatesFromPem(block('MAMCAQU=') + second + block('MAMCAQU=')), {
        code: 'CONFIG_ERROR',
        message: /certificate 2 of the PEM/,
      })
    assert.throws(() => certificatesFromPem('no PEM'), { code: 'CONFIG_ERROR' })
  })
})
