import { join } from 'node:path'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { createRfc3161Authority, readTrustAnchors } from '../../adapters/rfc3161/index.ts'
import { RegistryError } from '../../core/errors.ts'
import type { Logger, TimestampAuthority } from '../../core/ports.ts'
import type { Config } from '../settings/settings.ts'

type TsaConfig = Pick<Config, 'tsa' | 'tsaUrl' | 'tsaCa' | 'tsaPolicy' | 'tsaQuorum' | 'tsaRevocation' | 'tsaTimeoutMs'>

export interface TimestampAuthorities {
  readonly timestampAuthorities: readonly TimestampAuthority[]
  /** `undefined`: more than half of them. */
  readonly quorum: number | undefined
}

/** The authorities that the settings name, over the data directory. Throws `CONFIG_ERROR` where settings do not go together. */
export async function openTimestampAuthorities(
  config: TsaConfig,
  directory: string,
  logger: Logger,
): Promise<TimestampAuthorities> {
  const { tsa, tsaUrl, tsaCa, tsaPolicy, tsaQuorum: quorum } = config
  if (tsa !== 'rfc3161') {
    if (tsaUrl.length > 0 || tsaCa.length > 0 || tsaPolicy.length > 0)
      throw refuse(`EVIDENCE_TSA is ${tsa}, which uses no URL, CA or policy: set it to rfc3161, or leave those out`)
    const timestampAuthorities = tsa === 'local' ? [await openLocalTsa(join(directory, 'tsa'))] : []
    return { timestampAuthorities, quorum }
  }
  if (tsaUrl.length === 0) throw refuse('EVIDENCE_TSA=rfc3161 needs EVIDENCE_TSA_URL')
  if (tsaCa.length !== tsaUrl.length)
    throw refuse(
      `EVIDENCE_TSA_CA takes one PEM file for each URL of EVIDENCE_TSA_URL: ${tsaUrl.length}, not ${tsaCa.length}`,
    )
  if (tsaPolicy.length > 0 && tsaPolicy.length !== tsaUrl.length)
    throw refuse(
      `EVIDENCE_TSA_POLICY takes one for each URL of EVIDENCE_TSA_URL: ${tsaUrl.length}, not ${tsaPolicy.length}`,
    )
  const timestampAuthorities = tsaUrl.map(async (url, i) => {
    const policy = tsaPolicy[i] ?? ''
    return createRfc3161Authority({
      url,
      trustAnchors: await readTrustAnchors(tsaCa[i] ?? ''),
      ...(policy !== '' && { policy }),
      timeoutMs: config.tsaTimeoutMs,
      revocation: config.tsaRevocation,
      logger,
    })
  })
  return { timestampAuthorities: await Promise.all(timestampAuthorities), quorum }
}

const refuse = (message: string): RegistryError => new RegistryError('CONFIG_ERROR', message)
