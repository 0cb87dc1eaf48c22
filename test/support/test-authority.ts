import { createHash, randomBytes, webcrypto } from 'node:crypto'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'

/**
 * A timestamp authority that makes correct or wrong responses. Uses pkijs, so that it shares no code with the local
 * authority, and real keys, so that a response is rejected only for its intended fault.
 */

export const OID = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  tstInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  codeSigning: '1.3.6.1.5.5.7.3.3',
} as const

export type Hash = 'sha256' | 'sha384' | 'sha512'
const WEB_HASH = { sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' } as const

export type KeyKind = 'P-256' | 'P-384' | 'P-521' | 'RSA' | 'RSA-1024' | 'RSA-PSS'

const keyPairs = new Map<string, Promise<webcrypto.CryptoKeyPair>>()

/** Returns the same key pair for the same name, because RSA keys take long to generate. */
export function keyPair(kind: KeyKind, name: string): Promise<webcrypto.CryptoKeyPair> {
  const id = `${kind} ${name}`
  const made = keyPairs.get(id) ?? webcrypto.subtle.generateKey(algorithmOf(kind), true, ['sign', 'verify'])
  keyPairs.set(id, made)
  return made
}

const algorithmOf = (kind: KeyKind): webcrypto.RsaHashedKeyGenParams & webcrypto.EcKeyGenParams => {
  const rsa = {
    modulusLength: kind === 'RSA-1024' ? 1024 : 2048,
    publicExponent: Uint8Array.of(1, 0, 1),
    hash: 'SHA-256',
  }
  const isRsa = kind.startsWith('RSA')
  const rsaName = kind === 'RSA-PSS' ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5'
  return { name: isRsa ? rsaName : 'ECDSA', namedCurve: isRsa ? '' : kind, ...rsa }
}

export const buffer = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

export const integer = (bytes: Uint8Array): asn1js.Integer =>
  new asn1js.Integer({ valueHex: buffer(Uint8Array.of(0, ...bytes)) }).convertToDER()

export interface ExtendedKeyUsage {
  readonly critical: boolean
  readonly purposes: readonly string[]
}

export interface CertificateOptions {
  readonly name: string
  readonly keys: webcrypto.CryptoKeyPair
  /** Default: self-signed. */
  readonly issuer?: Issuer
  readonly hash?: Hash | 'sha1'
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** `undefined`: no basic constraints. */
  readonly authority?: { readonly pathLength?: number } | undefined
  /** First byte of the KeyUsage bits. */
  readonly keyUsage?: number
  readonly extendedKeyUsage?: ExtendedKeyUsage | undefined
  readonly extensions?: readonly pkijs.Extension[]
  /** Of the public key. Default: its named curve. */
  readonly keyParameters?: asn1js.BaseBlock
}

export interface Issuer {
  readonly certificate: pkijs.Certificate
  readonly keys: webcrypto.CryptoKeyPair
}

const distinguishedName = (name: string): pkijs.RelativeDistinguishedNames =>
  new pkijs.RelativeDistinguishedNames({
    typesAndValues: [
      new pkijs.AttributeTypeAndValue({ type: '2.5.4.3', value: new asn1js.Utf8String({ value: name }) }),
    ],
  })

export const extension = (extnID: string, critical: boolean, value: asn1js.BaseBlock): pkijs.Extension =>
  new pkijs.Extension({ extnID, critical, extnValue: value.toBER() })

export async function certificate(options: CertificateOptions): Promise<pkijs.Certificate> {
  const made = new pkijs.Certificate()
  made.version = 2
  made.serialNumber = integer(Uint8Array.of(0x5a, ...randomBytes(8)))
  made.subject = distinguishedName(options.name)
  made.issuer = options.issuer?.certificate.subject ?? made.subject
  made.notBefore.value = options.notBefore ?? new Date('2025-01-01T00:00:00Z')
  made.notAfter.value = options.notAfter ?? new Date('2040-01-01T00:00:00Z')
  await made.subjectPublicKeyInfo.importKey(options.keys.publicKey)
  if (options.keyParameters) made.subjectPublicKeyInfo.algorithm.algorithmParams = options.keyParameters
  const extensions = extensionsOf(options)
  const isNamed = extensions.some(({ extnID }) => extnID === SUBJECT_KEY_ID)
  made.extensions = isNamed ? extensions : [...extensions, keyIdentifier(made)]
  const hash = options.hash ?? 'sha256'
  await made.sign((options.issuer?.keys ?? options.keys).privateKey, hash === 'sha1' ? 'SHA-1' : WEB_HASH[hash])
  return pkijs.Certificate.fromBER(made.toSchema(true).toBER())
}

const SUBJECT_KEY_ID = '2.5.29.14'

function keyIdentifier(made: pkijs.Certificate): pkijs.Extension {
  const key = made.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView
  return extension(
    SUBJECT_KEY_ID,
    false,
    new asn1js.OctetString({ valueHex: buffer(createHash('sha1').update(key).digest()) }),
  )
}

function extensionsOf(options: CertificateOptions): pkijs.Extension[] {
  const { authority, keyUsage, extendedKeyUsage } = options
  const extensions: pkijs.Extension[] = []
  if (authority) {
    const { pathLength } = authority
    const limit = pathLength === undefined ? {} : { pathLenConstraint: pathLength }
    extensions.push(extension('2.5.29.19', true, new pkijs.BasicConstraints({ cA: true, ...limit }).toSchema()))
  }
  if (keyUsage !== undefined)
    extensions.push(extension('2.5.29.15', true, new asn1js.BitString({ valueHex: buffer(Uint8Array.of(keyUsage)) })))
  if (extendedKeyUsage)
    extensions.push(
      extension(
        '2.5.29.37',
        extendedKeyUsage.critical,
        new pkijs.ExtKeyUsage({ keyPurposes: [...extendedKeyUsage.purposes] }).toSchema(),
      ),
    )
  return [...extensions, ...(options.extensions ?? [])]
}

type IssuerOptions = Partial<CertificateOptions> & { readonly kind?: KeyKind }

/** A certificate that may issue others. Each name has its own keys, which are made once. */
export async function authorityNamed(
  name: string,
  { kind = 'P-256', ...options }: IssuerOptions = {},
): Promise<Issuer> {
  const keys = options.keys ?? (await keyPair(kind, name))
  return { keys, certificate: await certificate({ name, keys, authority: {}, keyUsage: 0x06, ...options }) }
}

/** A certificate that may sign timestamps, and nothing else. */
export function signerUnder(issuer: Issuer, options: IssuerOptions = {}): Promise<Issuer> {
  const extendedKeyUsage = { critical: true, purposes: [OID.timeStamping] }
  const own = { issuer, authority: undefined, keyUsage: 0x80, extendedKeyUsage, ...options }
  return authorityNamed(options.name ?? 'signer', own)
}

export const derOf = (made: pkijs.Certificate): Uint8Array => new Uint8Array(made.toSchema().toBER())

export interface ResponseOptions {
  readonly signer: Issuer
  /** Default: only the signer's. */
  readonly certificates?: readonly pkijs.Certificate[]
  readonly data: Uint8Array
  readonly hash?: Hash | 'sha1'
  /** Replaces the imprint. */
  readonly imprint?: Uint8Array
  readonly signatureHash?: Hash
  readonly nonce?: Uint8Array
  readonly policy?: string
  readonly genTime?: Date
  readonly accuracy?: pkijs.Accuracy
  readonly tstExtensions?: pkijs.Extension[]
  readonly eContentType?: string
  /** Changes the bytes of the TSTInfo before they are signed. */
  readonly content?: (der: Uint8Array) => Uint8Array
  /** Changes the signed attributes before they are signed. */
  readonly attributes?: (attributes: pkijs.Attribute[], signer: pkijs.Certificate) => pkijs.Attribute[]
  /** Changes the structure after it is signed. */
  readonly after?: (signed: pkijs.SignedData) => void
  /** The signer is named by its subject key identifier instead of issuer and serial number. */
  readonly byKeyIdentifier?: boolean
  readonly status?: pkijs.PKIStatusInfo
}

export const DEFAULT_GEN_TIME = new Date('2026-06-01T12:00:00.250Z')
export const DEFAULT_POLICY = '1.3.6.1.4.1.99999.1'

/** A DER TimeStampResp. */
export async function response(options: ResponseOptions): Promise<Uint8Array> {
  const signed = await signedData(options)
  const token = new pkijs.ContentInfo({ contentType: OID.signedData, content: signed.toSchema(true) })
  const status = options.status ?? new pkijs.PKIStatusInfo({ status: pkijs.PKIStatus.granted })
  return new Uint8Array(new pkijs.TimeStampResp({ status, timeStampToken: token }).toSchema().toBER())
}

async function signedData(options: ResponseOptions): Promise<pkijs.SignedData> {
  const { certificate: own, keys } = options.signer
  const content = (options.content ?? ((der) => der))(tstInfo(options))
  const hash = options.signatureHash ?? 'sha256'
  const attributes = (options.attributes ?? ((all) => all))(
    [
      attribute(OID.contentType, new asn1js.ObjectIdentifier({ value: OID.tstInfo })),
      attribute(OID.messageDigest, octets(createHash(hash).update(content).digest())),
      signingCertificateV2(derOf(own)),
    ],
    own,
  )
  // DER orders a SET OF by its encodings, and the signature is over DER.
  const sorted = attributes.toSorted((a, b) =>
    Buffer.compare(Buffer.from(a.toSchema().toBER()), Buffer.from(b.toSchema().toBER())),
  )
  const info = new pkijs.EncapsulatedContentInfo({ eContentType: options.eContentType ?? OID.tstInfo })
  // Set afterwards, because the constructor would split it into a constructed OCTET STRING.
  info.eContent = octets(content)
  const signed = new pkijs.SignedData({
    version: 3,
    encapContentInfo: info,
    certificates: [...(options.certificates ?? [own])],
    signerInfos: [
      new pkijs.SignerInfo({
        version: options.byKeyIdentifier ? 3 : 1,
        sid: options.byKeyIdentifier ? keyIdentifierSid(own) : issuerAndSerial(own),
        signedAttrs: new pkijs.SignedAndUnsignedAttributes({ type: 0, attributes: sorted }),
      }),
    ],
  })
  await signed.sign(keys.privateKey, 0, WEB_HASH[hash])
  options.after?.(signed)
  return signed
}

function tstInfo(options: ResponseOptions): Uint8Array {
  const { hash = 'sha256', nonce, accuracy, tstExtensions } = options
  const imprint = options.imprint ?? new Uint8Array(createHash(hash).update(options.data).digest())
  const tst = new pkijs.TSTInfo({
    version: 1,
    policy: options.policy ?? DEFAULT_POLICY,
    messageImprint: new pkijs.MessageImprint({
      hashAlgorithm: new pkijs.AlgorithmIdentifier({ algorithmId: OID[hash], algorithmParams: new asn1js.Null() }),
      hashedMessage: octets(imprint),
    }),
    serialNumber: integer(Uint8Array.of(0x2a, ...randomBytes(8))),
    genTime: options.genTime ?? DEFAULT_GEN_TIME,
    ...(nonce && { nonce: integer(nonce) }),
    ...(accuracy && { accuracy }),
    ...(tstExtensions && { extensions: tstExtensions }),
  })
  return new Uint8Array(tst.toSchema().toBER())
}

export const octets = (bytes: Uint8Array): asn1js.OctetString => new asn1js.OctetString({ valueHex: buffer(bytes) })

export const attribute = (type: string, ...values: readonly asn1js.BaseBlock[]): pkijs.Attribute =>
  new pkijs.Attribute({ type, values: [...values] })

const nested = (...value: asn1js.BaseBlock[]): asn1js.Sequence => new asn1js.Sequence({ value })

/** ESSCertIDv2 over a certificate's DER. */
export function signingCertificateV2(der: Uint8Array, hash: Hash = 'sha256'): pkijs.Attribute {
  const digest = octets(createHash(hash).update(der).digest())
  const algorithm = nested(new asn1js.ObjectIdentifier({ value: OID[hash] }))
  const id = hash === 'sha256' ? nested(digest) : nested(algorithm, digest)
  return attribute(OID.signingCertificateV2, nested(nested(id)))
}

/** ESSCertID (SHA-1) over a certificate's DER. */
export function signingCertificateV1(der: Uint8Array): pkijs.Attribute {
  return attribute(OID.signingCertificate, nested(nested(nested(octets(createHash('sha1').update(der).digest())))))
}

const issuerAndSerial = (own: pkijs.Certificate): pkijs.IssuerAndSerialNumber =>
  new pkijs.IssuerAndSerialNumber({ issuer: own.issuer, serialNumber: own.serialNumber })

function keyIdentifierSid(own: pkijs.Certificate): asn1js.Primitive {
  const found = own.extensions?.find(({ extnID }) => extnID === '2.5.29.14')?.parsedValue as asn1js.OctetString
  return new asn1js.Primitive({
    idBlock: { tagClass: 3, tagNumber: 0 },
    valueHex: buffer(found.valueBlock.valueHexView),
  })
}
