import { BitString, type BaseBlock } from 'asn1js'
import { AlgorithmIdentifier, Extensions, RelativeDistinguishedNames, RevokedCertificate } from 'pkijs'
import { toHex } from '../../bytes.ts'
import { derAt, derIn, type DerValue } from '../der.ts'
import { extensionValue, parseAsn1, timeOf } from './asn1.ts'
import { keyUsage, type Certificate } from './certificate.ts'
import { isEqualName } from './name.ts'
import {
  goodUnlessExpired,
  hasCritical,
  hasSignatureBy,
  issuerIdentity,
  revocationOf,
  unusable,
  type GoodStatement,
  type SignedStatement,
  type Statement,
  type StatusRequest,
} from './statement.ts'
import { PARSE_COST, type SignatureBudget } from '../untrusted.ts'

/** Certificate revocation lists (RFC 5280 § 5), offline. */

/** X.509 § 9.5.2.8. */
const OID_EXPIRED_CERTS_ON_CRL = '2.5.29.60'
/** Delta CRL indicator and issuing distribution point (§ 5.2.4 and 5.2.5), also if the issuer forgot to mark them. */
const LIMITING: ReadonlySet<string> = new Set(['2.5.29.27', '2.5.29.28'])
/** CRLReason (RFC 5280 § 5.3.1). */
const REMOVE_FROM_CRL = 8
/** The OID of the extension certificateIssuer, 2.5.29.29, in DER. */
const CERTIFICATE_ISSUER = '0603551d1d'
/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const CRL_SIGN = 0x02

/** A list whose signature is not verified. */
interface Crl {
  readonly der: Uint8Array
  readonly issuer: RelativeDistinguishedNames
  readonly good: GoodStatement
  /** It has an extension that limits, or may limit, what it is about: what it does not list is unknown (§ 5.2.5). */
  readonly isPartial: boolean
  readonly signed: SignedStatement
  readonly list: DerValue | undefined
  /** By serial number, hex. */
  readonly entries: ReadonlyMap<string, readonly DerValue[]>
}

/**
 * Reads a list that the issuer itself signed. A certificate that it lists is revoked, also if the list is partial. The
 * entries are read in passing, because lists have up to 8 MB.
 */
export function readCrl(der: Uint8Array, request: StatusRequest): readonly Statement[] {
  const { certificate, issuer, budget } = request
  const crl = budget.once(`crl ${budget.hashOf(der)}`, () => {
    budget.spend(PARSE_COST, der.length)
    return parseCrl(der, budget)
  })
  if (!isEqualName(crl.issuer, certificate.pki.issuer, budget)) return []
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & CRL_SIGN) === 0) return unusable('the key of the issuer may not sign lists')
  if (!hasSignatureBy(issuer, crl.signed, budget)) return unusable('its signature is not by the issuer')
  const { good, isPartial } = crl
  const serial = toHex(certificate.pki.serialNumber.valueBlock.valueHexView)
  const entries = (crl.entries.get(serial) ?? [])
    .filter((entry) => entriesBy(crl, issuer, budget).has(entry.at))
    .map((entry) => new RevokedCertificate({ schema: readAt(der, entry, budget) }))
    .map(({ revocationDate, crlEntryExtensions }) =>
      revocationOf(revocationDate.value.getTime(), crlEntryExtensions?.extensions, budget),
    )
  // Partial lists of changes name those that are not revoked any more.
  const revoked = entries.filter(({ reason }) => reason !== REMOVE_FROM_CRL)
  if (revoked.length > 0) return revoked.map((entry) => ({ state: 'revoked', by: 'crl', asOf: good.asOf, ...entry }))
  return isPartial
    ? unusable('it may be about other certificates, and does not list this one')
    : goodUnlessExpired(good, request)
}

/**
 * CertificateList ::= SEQUENCE { tbsCertList SEQUENCE { version INTEGER OPTIONAL, signature, issuer, thisUpdate,
 * nextUpdate OPTIONAL, revokedCertificates SEQUENCE OF … OPTIONAL, crlExtensions [0] OPTIONAL }, signatureAlgorithm,
 * signatureValue }
 */
function parseCrl(der: Uint8Array, budget: SignatureBudget): Crl {
  const whole = present(derAt(der))
  // Without a spread, which would read all of a million members.
  const [tbs, algorithm, signature, more] = derIn(der, whole)
  const [a, b, c, d, e, f, g] = derIn(der, present(tbs))
  const members = [a, b, c, d, e, f, g].filter((member) => member !== undefined)
  const [, issuer, thisUpdate, ...others] = members[0]?.tag === INTEGER ? members.slice(1) : members
  const list = others.find(({ tag }) => tag === SEQUENCE)
  const [extensions] = derIn(der, others.find(({ tag }) => tag === CRL_EXTENSIONS) ?? EMPTY)
  const read = (value: DerValue | undefined): BaseBlock => readAt(der, present(value), budget)
  const bits = read(signature)
  if (whole.end !== der.length || more !== undefined || !(bits instanceof BitString)) throw new Error('Not a CRL')
  const asOf = timeOf(read(thisUpdate))
  const nextUpdate = others.find(({ tag }) => tag === UTC_TIME || tag === GENERALIZED_TIME)
  const until = nextUpdate === undefined ? asOf : timeOf(read(nextUpdate))
  if (Number.isNaN(asOf + until)) throw new Error('Not a time')
  const about = extensions && new Extensions({ schema: read(extensions) }).extensions
  return {
    der,
    issuer: new RelativeDistinguishedNames({ schema: read(issuer) }),
    good: { by: 'crl', asOf, until, keptFrom: timeOf(extensionValue(about, OID_EXPIRED_CERTS_ON_CRL, budget)) },
    isPartial: hasCritical(about) || about?.some(({ extnID }) => LIMITING.has(extnID)) === true,
    signed: {
      bytes: der.subarray(present(tbs).at, present(tbs).end),
      algorithm: new AlgorithmIdentifier({ schema: read(algorithm) }),
      signature: bits,
    },
    list,
    entries: entriesOf(der, list, budget),
  }
}

/** An issuer lists a certificate once. More entries would only cost time. */
const MAX_ENTRIES = 16
const INTEGER = 0x02
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const CRL_EXTENSIONS = 0xa0
const EMPTY = { start: 0, end: 0 }

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A value is missing')
  return value
}

const readAt = (der: Uint8Array, { at, end }: DerValue, budget: SignatureBudget): BaseBlock =>
  parseAsn1(der.subarray(at, end), 'A value', budget)

/** So many entries cost one unit. Real ones have at least 30 bytes, those of an attacker 5. */
const ENTRIES_PER_UNIT = 500

function* entriesIn(der: Uint8Array, list: DerValue | undefined, budget: SignatureBudget): Generator<DerValue> {
  let count = 0
  for (const entry of derIn(der, list ?? EMPTY)) {
    if (++count % ENTRIES_PER_UNIT === 0) budget.spend()
    yield entry
  }
}

function entriesOf(der: Uint8Array, list: DerValue | undefined, budget: SignatureBudget): Crl['entries'] {
  const entries = new Map<string, DerValue[]>()
  for (const entry of entriesIn(der, list, budget)) {
    const serial = present(derAt(der, entry.start, entry.end))
    const key = toHex(der.subarray(serial.start, serial.end))
    const known = entries.get(key)
    if (known === undefined) entries.set(key, [entry])
    else if (known.length < MAX_ENTRIES) known.push(entry)
  }
  return entries
}

/** For so many bytes of a list that is searched for issuers. */
const SEARCHED_PER_UNIT = 262_144

/**
 * In a list for several issuers, an entry may name another one, which then holds for those after it (§ 5.3.3). Returns
 * where those of `issuer` are. All certificates of an issuer share one search.
 */
const entriesBy = (crl: Crl, issuer: Certificate, budget: SignatureBudget): ReadonlySet<number> =>
  budget.once(`entries ${budget.hashOf(crl.der)} ${issuer.fingerprint}`, () => {
    const { der, list, issuer: author } = crl
    budget.spend(Math.floor(der.length / SEARCHED_PER_UNIT))
    const name = toHex(issuerIdentity(issuer).name)
    const found = new Set<number>()
    let isNamed = isEqualName(author, issuer.pki.subject, budget)
    for (const entry of entriesIn(der, list, budget)) {
      const [, , extensions] = derIn(der, entry)
      const text = extensions === undefined ? '' : toHex(der.subarray(extensions.at, extensions.end))
      if (text.includes(CERTIFICATE_ISSUER)) isNamed = text.includes(name)
      if (isNamed) found.add(entry.at)
    }
    return found
  })
