import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { concatBytes, encodeUtf8, toBase64, toHex } from '../../../core/bytes.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import { formatTlogProof } from '../../../core/log/tlog-proof.ts'
import {
  isTlogProof,
  parsePolicy,
  verifyBundle,
  verifyTlogProof,
  type BundleResult,
  type Policy,
  type VerifyBundleOptions,
} from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { forgeBundle, type BundleParts, type Members } from '../../core/verify/bundle-forger.ts'
import { ForgedLog, forgeEvent } from '../../core/verify/forger.ts'
import { ForgedWitness } from '../../core/verify/forged-witness.ts'
import { compilePythonVerifier, python, skipPython, type PythonRun } from '../../support/python-verifier.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { TLOG_PROOF_POLICY, TLOG_PROOF } from '../../support/tlog-proof-example.ts'
import { bundleVectors } from '../../vectors/bundle-vectors.ts'
import {
  authorityNamed,
  certificate as makeCertificate,
  derOf,
  extension,
  integer,
  OID,
  response,
  signerUnder,
  type Issuer,
  type ResponseOptions,
} from '../../support/test-authority.ts'

/** Where the verifier in Python said more or less than the documents do. The verifier in TypeScript is the measure. */
const CODES: Readonly<Record<BundleResult['state'], number>> = {
  proven: 0,
  refuted: 1,
  unreadable: 2,
  consistent: 3,
  pending: 4,
  'retired-key': 5,
  'newer-key': 5,
  'other-log': 6,
  requirement: 8,
}

type Require = NonNullable<VerifyBundleOptions['require']>
const slotKey = new Uint8Array(32)
const RETIRED_AT = '2026-01-01T00:00:00Z'

const LOGGED = { origin: new ForgedLog().origin, slotKey, version: 1, time: 1_000 }

function logOf(name: string) {
  const log = new ForgedLog()
  const fields = { company: 'acme', evidence: name, externalId: name }
  const event = forgeEvent({ ...LOGGED, fields })
  log.add(event.opening)
  return { log, event, bundle: (parts: BundleParts = {}) => forgeBundle(log, [event], parts) }
}

const { log, event, bundle } = logOf('e-1')
const BUNDLE = JSON.stringify(bundle())
const { origin } = log
const keys = log.pinned.map(({ vkey, from, until }) => ({ vkey, from, until }))
const pemOf = (der: Uint8Array): string => `-----BEGIN CERTIFICATE-----\n${toBase64(der)}\n-----END CERTIFICATE-----\n`
interface Stamped {
  readonly checkpoints: readonly { readonly tokens: readonly string[] }[]
}
const policyWith = (members: Members = {}): string => JSON.stringify({ origin, keys, ...members })

/** The parameters of P-256 without its name (RFC 3279 § 2.3.5). */
function spelledOutP256(): asn1js.Sequence {
  const octets = (hex: string) => new asn1js.OctetString({ valueHex: Uint8Array.from(Buffer.from(hex, 'hex')).buffer })
  const prime = 'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff'
  const point =
    '046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
    '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5'
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
  const number = (hex: string) => integer(Buffer.from(hex, 'hex'))
  const curve = [`${prime.slice(0, -1)}c`, '5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b']
  const value = [
    number('01'),
    new asn1js.Sequence({ value: [new asn1js.ObjectIdentifier({ value: '1.2.840.10045.1.1' }), number(prime)] }),
    new asn1js.Sequence({ value: curve.map(octets) }),
    octets(point),
    number(order),
    number('01'),
  ]
  return new asn1js.Sequence({ value })
}

describe('the verifier in Python says the same', { skip: skipPython }, () => {
  const directory = temporaryOfSuite()
  const at = (name: string): string => join(directory, name)

  const { compiled, run, runIn } = compilePythonVerifier(directory)

  async function verify(text: string, policy?: string, require: Require = [], exec = run): Promise<PythonRun> {
    await writeFile(at('bundle'), text)
    if (policy !== undefined) await writeFile(at('policy'), policy)
    const pinned = policy === undefined ? [] : ['--policy', at('policy')]
    return exec([at('bundle'), ...pinned, ...require.flatMap((name) => ['--require', name])])
  }

  function codeOf(text: string, policy: string | undefined, require: Require): number {
    let pinned: { readonly policy?: Policy } = {}
    try {
      if (policy !== undefined) pinned = { policy: parsePolicy(policy) }
    } catch {
      return 2
    }
    if (!isTlogProof(text)) return CODES[verifyBundle(text, { ...pinned, tokens, require }).state]
    return pinned.policy === undefined ? 2 : CODES[verifyTlogProof(text, { policy: pinned.policy, require }).state]
  }

  /** The exit code, which is that of the verifier in TypeScript, too. */
  async function agrees(expected: number, text: string, policy?: string, require: Require = []): Promise<string> {
    const { code, stdout } = await verify(text, policy, require)
    const what = `${stdout}\n${text.slice(-300)}\n${policy}`
    assert.deepEqual([code, codeOf(text, policy, require)], [expected, expected], what)
    return stdout
  }

  const PEM = '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n'
  const authority = (members: Members): Members => ({
    timestampAuthorities: [{ name: 'a', trustAnchors: [PEM], ...members }],
  })

  it('about the vectors, and prints what receipts state', async () => {
    let printed = ''
    const vectors = bundleVectors()
    for (const { bundle: shown, policy, expected } of Object.values(vectors))
      printed += await agrees(CODES[expected.state], JSON.stringify(shown), policy && JSON.stringify(policy))
    assert.match(
      printed,
      /receipt of an erasure: no time is .*\n {2}stated at .* by operator, request: erased owner of /,
    )
    assert.match(printed, /not checked: copies of what was erased: /)
    assert.match(printed, /: the bundle discloses what was erased\n/)
    const { bundle: introduced, policy } = vectors['newer-key-introduced'] ?? assert.fail()
    const compromised = JSON.stringify(policy).replace('"until":null', '"until":null,"compromised":true')
    await agrees(5, JSON.stringify(introduced), compromised)
  })

  it('about policies', async () => {
    await agrees(0, BUNDLE, policyWith())
    const [key] = keys
    const other = `${origin}+01020304+${toBase64(Uint8Array.of(2, 7))}`
    await agrees(0, BUNDLE, policyWith({ keys: [...keys, { vkey: other }] }))
    await agrees(6, BUNDLE, policyWith({ keys: [{ vkey: other }] }))
    await agrees(0, BUNDLE, policyWith({ witnesses: null, groups: null, chains: null, timestampAuthorities: null }))
    await agrees(0, BUNDLE, policyWith(authority({ ranges: null })))
    await agrees(0, BUNDLE, policyWith().replace('"from":1', '"from":1.0'))
    await agrees(0, BUNDLE, `log ${key?.vkey}\nquorum none\n`)
    await agrees(0, BUNDLE, `\uFEFFlog ${key?.vkey}\r\nquorum none\r\n`)
    for (const broken of [
      policyWith({ keys: [...keys, ...keys] }),
      policyWith({ keys: [null] }),
      policyWith({ keys: [{ vkey: 1 }] }),
      policyWith({ keys: [{ ...key, until: '' }] }),
      policyWith({ keys: [{ ...key, compromised: 1 }] }),
      policyWith({ keys: [{ ...key, 'until?': 1 }] }),
      policyWith({ keys: [{ ...key, retiredAt: 'today' }] }),
      policyWith({ keys: [{ vkey: key?.vkey.replace(/.$/, '') }] }),
      policyWith({ keys: [{ vkey: [null] }] }),
      policyWith({ origin: 'other' }),
      policyWith({ origin: {} }),
      policyWith({ quorum: '' }),
      policyWith({ quorum: 'unknown' }),
      policyWith({ timestampAuthorities: {} }),
      policyWith({ timestampQuorum: 0 }),
      policyWith({ version: 2 }),
      policyWith(authority({ trustAnchors: ['no certificate'] })),
      policyWith(authority({ ranges: [{ from: 1 }] })),
      policyWith().slice(1),
      policyWith().replace('"from":1', '"from":-0'),
      `log ${key?.vkey}\n`,
      '',
    ])
      assert.match(await agrees(2, BUNDLE, broken), /is not a policy|newer version/)
  })

  it('about the order of lines in a policy, and what only looks like a policy', async () => {
    const { vkey } = new ForgedWitness('w', 1)
    const start = `log ${keys[0]?.vkey}\n`
    await agrees(8, BUNDLE, `quorum none\n${start}`.replace('quorum none', `witness w ${vkey}\nquorum w`))
    for (const broken of [
      `# \u007f\n${start}quorum none\n`,
      `# \u0085\n${start}quorum none\n`,
      `${start}group g all w\nwitness w ${vkey}\nquorum none\n`,
      `${start}quorum w\nwitness w ${vkey}\n`,
      `${start}quorum none\nquorum none\n`,
    ])
      await agrees(2, BUNDLE, broken)
    assert.equal((await run([at('bundle'), '--policy', ''])).code, 2)
  })

  it('about histories that are not sealed to their end', async () => {
    const fields = { owner: 'x' }
    const next = (version: number, prev: string) =>
      forgeEvent({ origin, slotKey, version, time: 1_000, first: event.txId, prev, fields })
    const second = next(2, event.txId)
    const third = next(3, second.txId)
    await agrees(4, JSON.stringify(forgeBundle(log, [event, second])), policyWith())
    await agrees(4, JSON.stringify(forgeBundle(log, [event, second, third])), policyWith())
    await agrees(1, JSON.stringify(forgeBundle(log, [event, third])), policyWith())
  })

  it('about a line of another log of the policy', async () => {
    const other = createNoteSigner('other.example/log', slotKey)
    const line = (note: string) =>
      other
        .signNote(note.slice(0, note.indexOf('\n\n') + 1))
        .split('\n\n')[1]
        ?.trim() ?? ''
    const text = JSON.stringify(bundle({ attestations: (note) => ({ cosignatures: [line(note)] }) }))
    await agrees(0, text, `log ${keys[0]?.vkey}\nlog ${other.verifierKey}\nquorum none\n`)
  })

  it('about a retired key and a file that the subject does not hold', async () => {
    const { log: rotated, event: first } = logOf('e-3')
    rotated.addKey()
    const retired = forgeBundle(rotated, [first], { sizes: [2], signer: () => 0 })
    const text = JSON.stringify({
      ...retired,
      keys: retired.keys.slice(0, 1),
      subject: { type: 'file', txId: first.txId, fileId: 'x' },
    })
    const pinned = rotated.pinned.map(({ vkey, from, until }) => ({ vkey, from, until }))
    await agrees(5, text, policyWith({ keys: pinned }))
  })

  it('about what is beyond a limit', async () => {
    const claimedPolicy = { origin, keys, extensions: { a: 'x'.repeat(2 ** 20) } }
    const { code, stdout } = await verify(JSON.stringify({ ...bundle(), claimedPolicy }))
    assert.deepEqual([code, /too long/.test(stdout)], [2, true], stdout)
  })

  it('about the form of bundles', async () => {
    const [policy, { keys: shown, events }] = [policyWith(), bundle()]
    const change = (members: Members): string => JSON.stringify({ ...bundle(), ...members })
    const within = (extensions: string): string => BUNDLE.replace(/\}$/, `,"extensions":{"a":${extensions}}}`)
    const floats = BUNDLE.replaceAll(/"(position|treeSize)":(\d)/g, '"$1":$2.0').replace(/:(\d)\.0/, ':$1e0')
    const inclusion = shown[0]?.['inclusion'] as readonly unknown[]
    for (const [code, text] of [
      [0, floats],
      [0, within('10000000000000000')],
      [0, within('0.1')],
      [2, change({ renewals: null })],
      [2, change({ extensions: null })],
      [2, change({ claimedPolicy: null })],
      [2, change({ keys: [] })],
      [2, change({ subject: { type: 'Evidence', txId: event.txId } })],
      [2, BUNDLE.replace('"position":', '"position?":1,"position":')],
      [2, BUNDLE.replace('"note":', '"consistency?":[],"note":')],
      [2, BUNDLE.replace('"note":', '"consistency":null,"note":')],
      [2, BUNDLE.replace(/"opening":"[^"]*/, (hex) => hex.toUpperCase().replace('OPENING', 'opening'))],
      [1, BUNDLE.replace(/"opening":"../, '"opening":"')],
      [1, change(bundle({ attestations: () => ({ cosignatures: ['x'] }) }))],
      [2, within('12345678901234567890')],
      [2, within('9'.repeat(5_000))],
      [2, within('-1e400')],
      [2, within('-0')],
      [2, within('0.12345678901234567891')],
      [2, within('{"__proto__":1}')],
      [2, within('['.repeat(64) + ']'.repeat(64))],
      [2, within(`[${'1,'.repeat(800_000)}1]`)],
      [2, within(`"${'x'.repeat(2 ** 25)}"`)],
      [2, change({ validationData: Array.from({ length: 2_001 }, () => ({ type: 'crl', data: '' })) })],
      [2, change({ events: [] })],
      [2, change({ keys: [{ ...shown[0], inclusion: [...inclusion, ...inclusion] }, ...shown.slice(1)] })],
      [2, change({ events: [{ ...events[0], files: [] }] })],
      [2, change({ events: [{ ...events[0], position: true }] })],
      [1, change({ events: [{ ...events[0], position: -1 }] })],
      [2, change({ events: [{ ...events[0], position: undefined }] })],
      [2, change(bundle({ attestations: () => ({ tokens: {} }) }))],
      [2, change(bundle({ attestations: () => ({ tokens: [1] }) }))],
      [2, change(bundle({ attestations: () => ({ tokens: ['*'] }) }))],
      [2, change({ claimedPolicy: [] })],
    ] as const)
      await agrees(code, text, policy)
    await agrees(1, change({ claimedPolicy: { keys: [] } }))
    for (const members of [{ chains: [{}] }, { timestampQuorum: 0 }, { format: 'x' }, { 'keys?': [] }])
      await agrees(2, change({ claimedPolicy: { keys, ...members } }))
    const later = { ...keys[0], retiredAt: '2026-01-01T00:00:00+00:00' }
    await agrees(2, change({ claimedPolicy: { keys: [later] } }))
    await agrees(1, change({ claimedPolicy: { keys: [{ ...keys[0], from: -1 }] } }))
    const { disclosure } = forgeEvent({ ...LOGGED, header: (header) => ({ ...header, x: 1 }) })
    await agrees(1, change({ events: [{ ...events[0], ...disclosure }] }), policy)
    await agrees(6, change({ origin: 'other' }), policyWith({ origin: undefined }))
  })

  it('about witnesses', async () => {
    const [witness, other] = [new ForgedWitness('witness', 5), new ForgedWitness('other', 6)]
    const cosigned = (about: (note: string) => string): string =>
      JSON.stringify(bundle({ attestations: (note) => ({ cosignatures: [witness.cosign(about(note))] }) }))
    const [right, wrong] = [cosigned((note) => note), cosigned((note) => `x${note}`)]
    const policyOf = (first: Members = {}, threshold: string | number = 1): string =>
      policyWith({
        witnesses: [{ ...witness.pinned, ...first }, other.pinned],
        groups: [{ name: 'both', threshold, members: ['witness', 'other'] }],
        quorum: 'both',
      })
    const after = { ranges: [{ from: 3, until: null }] }
    assert.match(await agrees(0, right, policyOf()), /witnessed by 1 of 2\n/)
    assert.match(await agrees(0, BUNDLE, policyOf()), /witnessed by 0 of 2, too few\n/)
    await agrees(1, wrong, policyOf())
    await agrees(0, wrong, policyOf(after))
    await agrees(0, wrong, policyWith())
    const lines = [`log ${keys[0]?.vkey}`, `witness w ${witness.vkey}`, 'group g all w', 'quorum g', '']
    await agrees(0, right, lines.join('\n'))
    await agrees(8, BUNDLE, lines.join('\n'))
    await agrees(0, right, policyOf(), ['witnesses'])
    for (const policy of [policyOf({}, 'all'), policyOf(after, 'all'), policyWith()])
      await agrees(8, right, policy, ['witnesses'])
  })

  it('about cosignatures with ML-DSA-44, which count as absent, and it says so', async () => {
    const [ed25519, modern] = [new ForgedWitness('w', 5), new ForgedWitness('modern', 6, 6)]
    const attestations = (note: string) => ({ cosignatures: [ed25519, modern].map((one) => one.cosign(note)) })
    const text = JSON.stringify(bundle({ attestations }))
    const lines = [`log ${keys[0]?.vkey}`, `witness w ${ed25519.vkey}`, `witness modern ${modern.vkey}`]
    const policyOf = (threshold: string): string =>
      [...lines, `group g ${threshold} w modern`, 'quorum g', ''].join('\n')
    assert.match(await agrees(8, text, policyOf('all')), /not checked: the cosignature of modern, .*type 06/)
    assert.match(await agrees(0, text, policyOf('any')), /witnessed by 1 of 2\n/)
    await agrees(2, text, policyOf('any').replace(modern.vkey, modern.vkey.slice(0, -8)))
  })

  it('about a retired key whose tree witnesses had cosigned', async () => {
    const { log: rotated, event: first } = logOf('e-4')
    rotated.addKey()
    const witness = new ForgedWitness('witness', 5)
    const pinned = rotated.pinned.map(({ vkey, from, until }) => ({ vkey, from, until, retiredAt: RETIRED_AT }))
    const policy = policyWith({ keys: pinned, witnesses: [witness.pinned], quorum: 'witness' })
    for (const [code, late] of [
      [0, 0],
      [5, 1],
    ] as const) {
      const seconds = Date.parse(RETIRED_AT) / 1_000 + late
      const attestations = (note: string) => ({ cosignatures: [witness.cosign(note, seconds)] })
      await agrees(code, JSON.stringify(forgeBundle(rotated, [first], { sizes: [2], attestations })), policy)
    }
  })

  it('about tlog-proofs', async () => {
    const change = (from: string | RegExp, to: string): string => TLOG_PROOF.replace(from, to)
    for (const [code, text] of [
      [0, TLOG_PROOF],
      [8, change(/— wit.*\n/, '')],
      [1, change('ojvV', 'ojvW')],
      [1, change('AAAAABlU', 'AAAAABlV')],
      [1, change('index 1', 'index 0')],
      [1, change('index 1', 'index 2')],
      [2, change(/extra .*\n/, '')],
      [2, change('extra ZXIx', 'extra ZXIy')],
      [2, change('index 1', 'index 01')],
      [2, change('CA=\n\n', 'CB=\n\n')],
      [2, `\uFEFF${TLOG_PROOF}`],
      [2, TLOG_PROOF.slice(0, TLOG_PROOF.indexOf('—'))],
      [5, change('YHYW3g', 'YHYX3g')],
    ] as const)
      await agrees(code, text, TLOG_PROOF_POLICY)
    await agrees(2, TLOG_PROOF)
    await agrees(6, TLOG_PROOF, policyWith())
    const { log: rotated, event: first } = logOf('e-5')
    rotated.addKey()
    const [old, ...newer] = rotated.pinned.map(({ vkey, from, until }) => ({ vkey, from, until }))
    const [extra, path, checkpoint] = [
      first.opening,
      rotated.tree.inclusionProof(1, 2),
      rotated.checkpoint(2, { key: 0 }),
    ]
    const text = formatTlogProof({ extra, index: 1, path, checkpoint })
    await agrees(5, text, policyWith({ keys: [old, ...newer] }))
    const root = toHex(rotated.tree.root(2))
    await agrees(0, text, policyWith({ keys: [{ ...old, root }, ...newer] }))
    await agrees(5, text, policyWith({ keys: newer }))
  })

  it('about two trees of one size in an export', async () => {
    const other = logOf('e-2').bundle()
    assert.equal(other.origin, origin)
    const counts = { evidences: 2, events: 2, unsealed: 0, withoutBundle: 0 }
    const head = { format: 'evidence-registry.export', version: 1, company: 'acme', origin, treeSize: 2 }
    const lines = [
      JSON.stringify({ ...head, exportedAt: '2026-01-01T00:00:00.000Z', counts: { evidences: 2 } }),
      `{"n":1,"bundle":${BUNDLE}}`,
      `{"n":2,"bundle":${JSON.stringify(other)}}`,
    ]
    const written = lines.map((line) => `${line}\n`).join('')
    const sha256 = createHash('sha256').update(written).digest('hex')
    await writeFile(at('export'), `${written}${JSON.stringify({ end: true, counts, sha256 })}\n`)
    await writeFile(at('policy'), policyWith())
    const { code, stdout } = await run(['--export', at('export'), '--policy', at('policy')])
    assert.deepEqual([code, /line 3: refuted: .*fork/.test(stdout)], [1, true], stdout)
    // What cannot be read does not hide what is refuted.
    const wrong = lines[2]?.replace('"opening":"6572', '"opening":"6573')
    await writeFile(at('export'), [lines[0], lines[1]?.replace('"version":1', '"version":2'), wrong, ''].join('\n'))
    assert.equal((await run(['--export', at('export')])).code, 1)
    // Nor do empty lines at the beginning.
    await writeFile(
      at('export'),
      ['', '\r', lines[0], lines[1]?.replace('"opening":"6572', '"opening":"6573'), ''].join('\n'),
    )
    assert.equal((await run(['--export', at('export')])).code, 1)
  })

  it('about exports in which nothing is signed', async () => {
    const counts = { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 }
    const exportOf = (name: string): string => {
      const format = { format: 'evidence-registry.export', version: 1, company: 'acme', origin: name, treeSize: 0 }
      const head = `${JSON.stringify({ ...format, exportedAt: '2026-01-01T00:00:00.000Z', counts })}\n`
      return `${head}${JSON.stringify({ end: true, counts, sha256: createHash('sha256').update(head).digest('hex') })}\n`
    }
    await writeFile(at('policy'), policyWith())
    for (const [code, name] of [
      [8, origin],
      [6, 'other.example/log'],
    ] as const) {
      await writeFile(at('export'), exportOf(name))
      assert.equal((await run(['--export', at('export'), '--policy', at('policy')])).code, code)
    }
  })

  describe('about time stamps', () => {
    const genTime = new Date('2026-06-01T12:00:00.250Z')
    let policy: string
    let root: Issuer
    let stamped: (...options: readonly Partial<ResponseOptions>[]) => Promise<string>
    before(async () => {
      root = await authorityNamed('root')
      const signer = await signerUnder(root, { name: 'signer' })
      const trustAnchors = [pemOf(derOf(root.certificate))]
      const authorities = ['a', 'b'].map((name) => ({ name, trustAnchors }))
      policy = policyWith({ timestampAuthorities: authorities })
      stamped = async (...options) => {
        const data = encodeUtf8(log.checkpoint())
        const made = await Promise.all(options.map((each) => response({ signer, data, genTime, ...each })))
        return JSON.stringify(bundle({ attestations: () => ({ tokens: made.map(toBase64) }) }))
      }
    })

    it('with an accuracy, and by too few authorities', async () => {
      const seconds = new pkijs.Accuracy({ seconds: 1, millis: 500, micros: 250 })
      const text = await stamped({ accuracy: seconds })
      assert.match(await agrees(0, text, policy), /existed at 2026-06-01T12:00:01\.751Z/)
      const result = verifyBundle(text, { policy: parsePolicy(policy), tokens })
      const { events } = 'claims' in result ? result.claims : assert.fail()
      assert.equal(events[0]?.notLaterThan, Date.parse('2026-06-01T12:00:01.751Z'))
      // Two authorities that share the key of a signer are one.
      const quorum = policy.replace('{', '{"timestampQuorum":2,')
      assert.match(await agrees(0, await stamped({}, {}), quorum), /no time is proven/)
    })

    it('that cannot be read, or state another time outside of what is signed', async () => {
      const replaced = (time: string) => (der: Uint8Array) =>
        Buffer.from(Buffer.from(der).toString('latin1').replace('20260601120000.25Z', time), 'latin1')
      for (const time of ['20261301120000.25Z', '20260230120000.25Z', '20261231235960.25Z']) {
        const content = replaced(time)
        assert.match(await agrees(0, await stamped({ content }, {}), policy), /existed at 2026-06-01T12:00:00\.250Z/)
        assert.match(await agrees(0, await stamped({ content }), policy), /no time is proven/)
      }
      const statusStrings = [new asn1js.Utf8String({ value: 'x\nTime stamp: Jan  1 00:00:00 2020 GMT\n' })]
      const status = new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.granted, statusStrings })
      assert.match(await agrees(0, await stamped({ status }), policy), /existed at 2026-06-01T12:00:00\.250Z/)
    })

    /** The time that the verifier in TypeScript proves. */
    function timeOf(text: string, pinned: string): string | undefined {
      const result = verifyBundle(text, { policy: parsePolicy(pinned), tokens })
      const time = 'claims' in result ? result.claims.events[0]?.notLaterThan : assert.fail()
      return time === undefined ? undefined : new Date(time).toISOString()
    }

    async function agreesOnTime(what: string, isProven: boolean, text: string, pinned: string): Promise<void> {
      const time = timeOf(text, pinned)
      assert.equal(time !== undefined, isProven, what)
      const { stdout } = await verify(text, pinned)
      assert.equal(/existed at (\S+)/.exec(stdout)?.[1], time, `${what}: ${stdout}`)
    }

    const nothing = new asn1js.Null()
    const twice = [extension('1.2.3.5', false, nothing), extension('1.2.3.5', false, nothing)]
    const nameConstraints = [extension('2.5.29.30', true, new asn1js.Sequence({ value: [] }))]
    const otherNames = extension(
      '2.5.29.30',
      false,
      asn1js.fromBER(Buffer.from('3014a0123010a40e300c310a300806035504030c0178', 'hex')).result,
    )
    const forCode = { critical: false, purposes: [OID.codeSigning] }

    it('by signers of other kinds', async () => {
      for (const [what, isProven, options] of [
        ['RSA', true, { kind: 'RSA' }],
        ['RSA of 1,024 bits', false, { kind: 'RSA-1024' }],
        ['RSA-PSS', true, { kind: 'RSA-PSS' }],
        ['P-521', true, { kind: 'P-521' }],
        ['SHA-1', false, { hash: 'sha1' }],
        ['other key usage', true, { keyUsage: 0xa0 }],
        ['no signatures', false, { keyUsage: 0x20 }],
        ['name constraints', false, { extensions: nameConstraints }],
        ['an extension twice', false, { extensions: twice }],
        ['a curve that is spelled out', false, { keyParameters: spelledOutP256() }],
        [
          'two purposes',
          false,
          { extendedKeyUsage: { critical: true, purposes: [OID.timeStamping, OID.codeSigning] } },
        ],
        ['ended', false, { notAfter: new Date('2026-06-01T12:00:00Z') }],
      ] as const) {
        const signer = await signerUnder(root, { name: what, ...options })
        await agreesOnTime(what, isProven, await stamped({ signer }), policy)
      }
    })

    it('by authorities of other kinds', async () => {
      for (const [what, isProven, options] of [
        ['RSA-PSS', true, { kind: 'RSA-PSS' }],
        ['RSA of 1,024 bits', false, { kind: 'RSA-1024' }],
        ['not a CA', false, { authority: undefined }],
        ['other purpose', false, { extendedKeyUsage: forCode }],
        ['name constraints', false, { extensions: nameConstraints }],
        ['signs no certificates', false, { keyUsage: 0x80 }],
        ['a curve that is spelled out', false, { keyParameters: spelledOutP256() }],
        // `openssl verify` applies them; a path may have them, because they are not critical.
        ['name constraints that are not critical', true, { extensions: [otherNames] }],
      ] as const) {
        const own = await authorityNamed(`root ${what}`, options)
        const between = await authorityNamed(`between ${what}`, { ...options, issuer: root })
        const trustAnchors = [pemOf(derOf(own.certificate))]
        const pinned = policyWith({ timestampAuthorities: [{ name: 'a', trustAnchors }] })
        const below = async (issuer: Issuer, chain: readonly Issuer[] = []): Promise<string> => {
          const signer = await signerUnder(issuer, { name: `signer ${what}` })
          return stamped({ signer, certificates: [signer, ...chain].map(({ certificate }) => certificate) })
        }
        await agreesOnTime(`anchor: ${what}`, isProven, await below(own), pinned)
        await agreesOnTime(what, isProven, await below(between, [between]), policy)
      }
      for (const [name, isProven] of [
        [new asn1js.PrintableString({ value: ' ROOT' }), true],
        [new asn1js.BmpString({ value: 'Root ' }), true],
        [new asn1js.Utf8String({ value: 'ro ot' }), false],
      ] as const) {
        const { certificate: named } = await authorityNamed('root', { keys: root.keys })
        named.subject.typesAndValues = [new pkijs.AttributeTypeAndValue({ type: '2.5.4.3', value: name })]
        named.subject.valueBeforeDecode = new ArrayBuffer(0)
        const signer = await signerUnder(
          { keys: root.keys, certificate: named },
          { name: 'of a root spelled otherwise' },
        )
        await agreesOnTime(`root as ${name.valueBlock.value}`, isProven, await stamped({ signer }), policy)
      }
      const path = [root]
      for (let i = 1; i <= 7; i++) path.push(await authorityNamed(`ca ${i}`, { issuer: path.at(-1) ?? root }))
      for (const [length, isProven] of [
        [6, true],
        [7, false],
      ] as const) {
        const signer = await signerUnder(path[length] ?? root, { name: `below ${length}` })
        const certificates = [signer, ...path.slice(1)].map(({ certificate }) => certificate)
        await agreesOnTime(`path of ${length + 2}`, isProven, await stamped({ signer, certificates }), policy)
      }
    })

    it('in other forms', async () => {
      await agreesOnTime('by key identifier', true, await stamped({ byKeyIdentifier: true }), policy)
      await agreesOnTime('no certificates', false, await stamped({ certificates: [] }), policy)
      await agreesOnTime('in another token', true, await stamped({ certificates: [] }, {}), policy)
      const twoSigners = (signed: pkijs.SignedData): void => void signed.signerInfos.push(...signed.signerInfos)
      await agreesOnTime('two signers', false, await stamped({ after: twoSigners }), policy)
      const asRsa = ({ signerInfos: [info] }: pkijs.SignedData): void =>
        void (info && (info.signatureAlgorithm.algorithmId = '1.2.840.113549.1.1.11'))
      await agreesOnTime('an algorithm of other keys', false, await stamped({ after: asRsa }), policy)
      await agreesOnTime('no ESSCertID', false, await stamped({ attributes: (all) => all.slice(0, 2) }), policy)
      const [token = ''] = (JSON.parse(await stamped({})) as Stamped).checkpoints.flatMap((each) => each.tokens)
      const inside = Buffer.from(token, 'base64').subarray(4)
      const withTokens = async (der: Uint8Array): Promise<string> =>
        (await stamped({})).replace(/"tokens":\["[^"]*/, `"tokens":["${toBase64(der)}`)
      const unsaid = concatBytes(Uint8Array.of(0x30, 0x80), inside, Uint8Array.of(0, 0))
      await agreesOnTime('a length that is not said', true, await withTokens(unsaid), policy)
      const nested = Buffer.from('3080'.repeat(95) + '0500'.repeat(9_800) + '0000'.repeat(95), 'hex')
      await agreesOnTime('many lengths that are not said', false, await withTokens(nested), policy)
      const longer = concatBytes(Buffer.from(token, 'base64'), Uint8Array.of(0))
      await agreesOnTime('a byte behind it', false, await withTokens(longer), policy)
    })

    it('beside a certificate that is malformed, which is not an issuer', async () => {
      const signer = await signerUnder(root, { name: 'signer' })
      const beside = (other: pkijs.Certificate) => stamped({ signer, certificates: [signer.certificate, other] })
      for (const [what, extnID, hex] of [
        ['key identifier', '2.5.29.14', '0405aa'],
        ['constraints', '2.5.29.19', '300501'],
        ['key usage', '2.5.29.15', '0500'],
        ['purposes', '2.5.29.37', '3009aa'],
      ] as const) {
        const extensions = [new pkijs.Extension({ extnID, extnValue: Uint8Array.from(Buffer.from(hex, 'hex')).buffer })]
        const options = { extensions, ...(what === 'constraints' ? {} : { authority: {} }) }
        const malformed = await makeCertificate({ name: 'root', keys: root.keys, ...options })
        await agreesOnTime(what, true, await beside(malformed), policy)
      }
      const { certificate: named } = await authorityNamed('other')
      const number = new pkijs.AttributeTypeAndValue({ type: '2.5.4.3' })
      Object.assign(number, { value: new asn1js.Integer({ value: 1 }) })
      named.subject.typesAndValues = [number]
      named.subject.valueBeforeDecode = new ArrayBuffer(0)
      await named.sign(root.keys.privateKey, 'SHA-256')
      await agreesOnTime('a number as a name', true, await beside(named), policy)
    })

    it("by the operator's own authority, of which it says so", async () => {
      const local = await authorityNamed('LOCAL TEST - NOT A TRUSTED AUTHORITY (CA 1)')
      const signer = await signerUnder(local, { name: 'local' })
      const own = { name: 'local', trustAnchors: [pemOf(derOf(local.certificate))] }
      const { timestampAuthorities } = JSON.parse(policy) as { timestampAuthorities: readonly unknown[] }
      const both = policyWith({ timestampAuthorities: [own, ...timestampAuthorities] })
      const early = { signer, genTime: new Date('2025-02-01T00:00:00Z') }
      const note = /existed at 2025\S+, by the operator's own test authority: proves no time to others/
      assert.match(await agrees(0, await stamped(early), both), note)
      assert.match(await agrees(0, await stamped(early, {}), both), /existed at 2026-06-01T12:00:00.250Z\n/)
    })

    it('of which there are too many', async () => {
      const big = new ForgedLog()
      big.add(event.opening)
      for (let i = 0; i < 100; i++)
        big.add(forgeEvent({ origin, slotKey: slotKey.with(0, i), version: 1, time: 5 }).opening)
      const sizes = Array.from({ length: 100 }, (_, i) => i + 2)
      const junk = (i: number): string => toBase64(Uint8Array.of(0x30, 5, 2, 3, 1, i >> 8, i & 255))
      let made = 0
      const attestations = () => ({ tokens: Array.from({ length: 8 }, () => junk(made++)) })
      const text = JSON.stringify(forgeBundle(big, [event], { sizes, attestations }))
      const { code, stdout } = await verify(text, policy)
      assert.deepEqual([code, /too many checks/.test(stdout)], [2, true], stdout)
      assert.equal((await verify(text, policyWith())).code, 0)
    })

    it('without openssl, except that it cannot say', async () => {
      await mkdir(at('empty'))
      await symlink('/nowhere', at('empty/openssl'))
      const exec = (args: readonly string[]): Promise<PythonRun> => runIn({ PATH: at('empty') }, args)
      const { code, stdout } = await verify(await stamped({}), policy, [], exec)
      assert.deepEqual([code, /openssl is missing/.test(stdout)], [2, true], stdout)
      assert.equal((await verify(await stamped({}), policyWith(), [], exec)).code, 0)
    })
  })

  it('whatever the console can show', async () => {
    await writeFile(at('bundle'), BUNDLE)
    await writeFile(at('фото\n.jpg'), 'x')
    const args = [at('bundle'), '--file', at('фото\n.jpg')]
    const { code, stdout } = await runIn({ PYTHONIOENCODING: 'cp1252' }, args)
    assert.equal(code, 7)
    assert.match(stdout, /\\u0444.*\\n\.jpg: not in this proof\n/)
    assert.match(stdout, /not checked: .*revocation/)
    const full = spawnSync('sh', ['-c', '"$@" > /dev/full', 'sh', python, compiled, at('bundle')])
    assert.equal(full.status, 2, String(full.stderr))
  })
})
