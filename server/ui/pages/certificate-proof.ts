import type { ErasedValue, EvidenceProof } from '../../client/index.ts'
import { verifyBundle, type BundleClaims } from '../../../core/verify/index.ts'
import { isOwn } from '../components/values.tsx'
import { disclosedName } from '../event-names.ts'
import { publicClient, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { readText } from './read-text.ts'
import { AFTER_ALL } from './timeline.tsx'

/** A time by which an event existed, and who states it. */
interface StatedTime {
  /** ms since 1970. */
  readonly at: number
  readonly by: string
  /** The operator's own test authority or ledger. */
  readonly isLocalTest: boolean
}

interface StatedBlock extends StatedTime {
  readonly blockNumber: number
  readonly txHash: string
  readonly isFinal: boolean
}

/** The event that a certificate proves: the newest one of its content, without content the creation. */
export interface CertifiedEvent {
  readonly version: number
  readonly name: string
  readonly txId: string
  /** As the registry states. */
  readonly recordedAt: number | string
  readonly merkle: Pick<OkProof['merkle'], 'merkleRoot' | 'leafIndex' | 'treeSize' | 'batchId' | 'checkpoint'>
  readonly stamps: readonly StatedTime[]
  readonly blocks: readonly StatedBlock[]
}

export interface CertificateProof {
  readonly event: CertifiedEvent
  /** The content that the txIds commit to; `undefined` without a key. */
  readonly claims: BundleClaims | undefined
  /** Present values that were erased, as the registry states. */
  readonly erased?: readonly ErasedValue[] | undefined
}

type OkProof = Extract<EvidenceProof, { status: 'ok' }>

/** Reads and verifies what a certificate shows; `undefined` while its event is not sealed. */
export async function readCertificate(
  evidenceId: string,
  content: { readonly session: Session; readonly externalId: string } | undefined,
  signal: AbortSignal,
): Promise<CertificateProof | undefined> {
  const proof = await publicClient.verifyEvidence({ evidenceId }, { signal })
  if (proof.status !== 'ok') return undefined
  if (content === undefined) return { event: await creation(proof), claims: undefined }
  const claims = await verifiedContent(content.session, content.externalId, proof, signal)
  const { client } = content.session
  const { object } = await client.getEvidence({ externalId: content.externalId, last: AFTER_ALL, len: 1 }, { signal })
  const newest = claims.events.at(-1)
  if (newest?.log === undefined) return undefined
  const merkle = await publicClient.getProof({ txId: newest.txId }, { signal })
  if (merkle.status !== 'ok') return undefined
  const event = {
    version: claims.events.length,
    name: disclosedName(newest.fields) ?? '',
    txId: newest.txId,
    recordedAt: newest.committedTime,
    merkle: { ...merkle, treeSize: newest.log.treeSize },
    stamps: newest.timestamps.map(({ notLaterThan, authorities, isLocalTest }) => {
      const named = authorities.filter((each) => isLocalTest || !each.isLocalTest)
      return { at: notLaterThan, by: named.map(({ name }) => name).join(', '), isLocalTest }
    }),
    blocks: newest.anchors.map(({ blockTime: at, network: by, isBlockFinal: isFinal, ...block }) => ({
      ...block,
      at,
      by,
      isFinal,
    })),
  }
  return { event, claims, erased: object.erased }
}

/** What the registry states about the creation. */
async function creation({ txId, createdAt, merkle, tsa }: OkProof): Promise<CertifiedEvent> {
  const { anchor } = merkle
  const stated = (at: number, by: string) => ({ at, by, isLocalTest: isOwn(by) })
  return {
    version: 1,
    name: texts.evidence.eventNames.create,
    txId,
    recordedAt: createdAt,
    merkle,
    stamps: tsa ? [stated(await latestTime(tsa.token), tsa.authority)] : [],
    blocks: anchor ? [{ ...anchor, ...stated(Date.parse(anchor.blockTime), anchor.network), isFinal: true }] : [],
  }
}

/** The latest time that a token (base64) allows: its accuracy is not in `genTime`. */
async function latestTime(token: string): Promise<number> {
  const { parseTimestampResponse } = await import('../../../core/verify/tokens.ts')
  return parseTimestampResponse(Uint8Array.from(atob(token), (char) => char.charCodeAt(0))).notLaterThan
}

/** The content of an evidence. Throws if it does not hash to the txId that the public proof is about. */
async function verifiedContent(
  { client }: Session,
  externalId: string,
  { txId }: OkProof,
  signal: AbortSignal,
): Promise<BundleClaims> {
  const bundle = await client.getBundle({ externalId, fields: 'all', files: 'all' }, { signal })
  const [text, { tokens }] = await Promise.all([readText(bundle, 'proof'), import('../../../core/verify/tokens.ts')])
  const result = verifyBundle(text, { expect: { txId }, tokens })
  if (!('claims' in result)) throw new Error(result.reason)
  return result.claims
}

/** The earliest one that is not of the operator's own authority or ledger, else the earliest of these. */
export const statedTime = ({ stamps, blocks }: CertifiedEvent): StatedTime | undefined =>
  [...stamps, ...blocks.filter(({ isFinal }) => isFinal)].toSorted(
    (a, b) => Number(a.isLocalTest) - Number(b.isLocalTest) || a.at - b.at,
  )[0]
