import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import {
  isNamedAsIssuer,
  parseCertificate,
  subjectKeyIdentifier,
  type Certificate,
} from '../../../../core/verify/tokens/certificate.ts'
import { buildPath } from '../../../../core/verify/tokens/path.ts'
import { parseToken, signedAttributes, signingCertificate } from '../../../../core/verify/tokens/token.ts'
import { certificatesIn } from '../../../../core/verify/tokens/timestamp.ts'
import { SignatureBudget } from '../../../../core/verify/untrusted.ts'
import {
  authorityNamed,
  buffer,
  derOf,
  extension,
  keyPair,
  response,
  signerUnder,
  type CertificateOptions,
} from '../../../support/test-authority.ts'

/** What an attacker's certificates make the libraries do: it is counted, not timed. */

const root = await authorityNamed('root')
const parsed = async (options: Partial<CertificateOptions>): Promise<Certificate> =>
  parseCertificate(derOf((await signerUnder(root, options)).certificate))

/** The certificate with changes. Its signature is wrong. */
const changed = (change: (copy: pkijs.Certificate) => void): Uint8Array => {
  const copy = pkijs.Certificate.fromBER(derOf(root.certificate))
  change(copy)
  return new Uint8Array(copy.toSchema(true).toBER())
}

/** The results of calls. */
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

const nested = (depth: number): asn1js.BaseBlock =>
  times(depth, () => 0).reduce<asn1js.BaseBlock>((value) => new asn1js.Sequence({ value: [value] }), new asn1js.Null())

const sequence = (...value: asn1js.BaseBlock[]): asn1js.Sequence => new asn1js.Sequence({ value })

describe("an attacker's certificate", () => {
  test('is parsed without a text of its nested values, which would repeat each at every depth', ({ mock }) => {
    const algorithm = new pkijs.AlgorithmIdentifier({ algorithmId: '1.2.3', algorithmParams: nested(80) })
    const typesAndValues = [
      new pkijs.AttributeTypeAndValue({ type: '2.5.4.3', value: nested(80) as asn1js.Utf8String }),
    ]
    const der = changed((copy) => {
      copy.signature = algorithm
      copy.signatureAlgorithm = algorithm
      copy.subject = new pkijs.RelativeDistinguishedNames({ typesAndValues })
    })
    const calls = (['toJSON', 'toString', 'toBER'] as const).map((name) =>
      mock.method(asn1js.BaseBlock.prototype, name),
    )
    assert.equal(parseCertificate(der).subject, 'CN=?')
    assert.deepEqual(
      calls.map((each) => each.mock.callCount()),
      [0, 0, 0],
    )
  })

  test('has its extensions parsed once, also if they cannot be', ({ mock }) => {
    const time = new asn1js.Primitive({ idBlock: { tagClass: 1, tagNumber: 24 }, valueHex: buffer(Uint8Array.of(120)) })
    const certificate = parseCertificate(
      changed((copy) => {
        copy.extensions = [extension('2.5.29.14', false, time)]
      }),
    )
    const parse = mock.method(asn1js.GeneralizedTime.prototype, 'fromBER')
    for (const _ of [1, 2]) assert.equal(subjectKeyIdentifier(certificate), undefined)
    assert.equal(parse.mock.callCount(), 1)
  })

  test('has no name parsed that an AuthorityKeyIdentifier holds', async ({ mock }) => {
    const names = new asn1js.Constructed({
      idBlock: { tagClass: 3, tagNumber: 1 },
      value: times(100, () => new asn1js.Primitive({ idBlock: { tagClass: 3, tagNumber: 6 } })),
    })
    const subject = await parsed({ extensions: [extension('2.5.29.35', false, sequence(names))] })
    const parse = mock.method(pkijs.GeneralName.prototype, 'fromSchema')
    assert.ok(isNamedAsIssuer(parseCertificate(derOf(root.certificate)), subject, new SignatureBudget()))
    assert.equal(parse.mock.callCount(), 0)
  })

  test('has the parameters of its signature read once for all issuers', async ({ mock }) => {
    const algorithmParams = new pkijs.RSASSAPSSParams().toSchema()
    const algorithm = new pkijs.AlgorithmIdentifier({ algorithmId: '1.2.840.113549.1.1.10', algorithmParams })
    const copy = pkijs.Certificate.fromBER(derOf((await signerUnder(root)).certificate))
    copy.signature = algorithm
    copy.signatureAlgorithm = algorithm
    const signer = parseCertificate(new Uint8Array(copy.toSchema(true).toBER()))
    const namesakes = await Promise.all(
      times(4, async (i) => authorityNamed('root', { keys: await keyPair('P-256', `namesake ${i}`) })),
    )
    const candidates = namesakes.map(({ certificate }) => parseCertificate(derOf(certificate)))
    const read = mock.method(pkijs.RSASSAPSSParams.prototype, 'fromSchema')
    const budget = new SignatureBudget()
    const request = { signer, candidates, anchors: [parseCertificate(derOf(root.certificate))], budget }
    assert.throws(() => buildPath({ ...request, time: Date.UTC(2026, 5, 1) }), /algorithm 1\.2\.840\.113549\.1\.1\.10 /)
    assert.equal(read.mock.callCount(), 1)
  })
})

test('a token costs one comparison of names, and each certificate one digest for all tokens', async ({ mock }) => {
  const signer = await signerUnder(root)
  const budget = new SignatureBudget()
  const data = Uint8Array.of(1)
  const tokens = await Promise.all(times(3, () => response({ signer, data })))
  const others = await Promise.all(times(4, () => parsed({ name: 'another' })))
  const parsedTokens = tokens.map((der) => parseToken(der, budget))
  const fold = mock.method(JSON, 'stringify')
  const once = mock.method(budget, 'once')
  for (const { signer: info, certificates } of parsedTokens)
    assert.equal(
      signingCertificate(signedAttributes(info), info, [...others, ...certificates], budget).subject,
      'CN=signer',
    )
  assert.equal(fold.mock.callCount(), 3 * 2)
  const keys = once.mock.calls.map(({ arguments: [key] }) => key)
  assert.equal(new Set(keys).size, 5)
  assert.ok(keys.every((key) => typeof key === 'string' && key.startsWith('digest sha256 ')))
})

test('a token is parsed once, also if it is in a bundle for several trees', async () => {
  const der = await response({ signer: await signerUnder(root), data: Uint8Array.of(1) })
  const budget = new SignatureBudget()
  certificatesIn(der, budget)
  const { used } = budget
  assert.ok(used > 0)
  certificatesIn(der.slice(), budget)
  assert.equal(budget.used, used)
})
