import { join } from 'node:path'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { createRfc3161Authority, readTrustAnchors } from '../../adapters/rfc3161/index.ts'
import type { Logger } from '../../core/index.ts'
import type { TimestampAuthority } from '../../adapters/kit/index.ts'
import type { Config } from '../settings/load.ts'
import type { ClockWatch } from './clock-watch.ts'
import { configError } from '../settings/config-error.ts'
import { namesModule, openModule } from './own-module.ts'

/** What hears of failures, and of the times of authorities. */
interface Watching {
  readonly logger: Logger
  readonly clockWatch?: ClockWatch
}

/**
 * Opens the timestamp authorities of the settings, in their order, which is that of their tokens. The embedded one has
 * its keys below the data directory. Throws `CONFIG_ERROR` for settings that do not fit together.
 */
export async function openTimestampAuthorities(
  config: Config,
  directory: string,
  watching: Watching,
): Promise<readonly TimestampAuthority[]> {
  assertConsistent(config)
  if (config.tsa === 'none') return []
  if (config.tsa === 'local') return [await openLocalTsa(join(directory, 'tsa'))]
  if (namesModule(config.tsa)) return [await openModule('tsa', config, watching.logger)]
  return Promise.all(config.tsaUrl.map((url, i) => openRemote(config, url, i, watching)))
}

/** How errors and log lines name the authorities: by their hosts, because the rest of a URL may be a secret. */
export function authorityLabels(urls: readonly string[]): readonly string[] {
  const hosts = urls.map((url) => new URL(url).host)
  return hosts.map((host, i) => (hosts.indexOf(host) === hosts.lastIndexOf(host) ? host : `${host} (${i + 1})`))
}

/** An authority by its URL, with its own trust anchors and policy. */
async function openRemote(
  { tsaUrl, tsaCa, tsaPolicy, tsaRevocation, ...proxies }: Config,
  url: string,
  index: number,
  { logger, clockWatch }: Watching,
): Promise<TimestampAuthority> {
  const policy = tsaPolicy[index] ?? ''
  const label = authorityLabels(tsaUrl)[index]
  return createRfc3161Authority({
    url,
    ...(label !== undefined && { label }),
    trustAnchors: await readTrustAnchors(tsaCa[index] ?? ''),
    ...(policy !== '' && { policy }),
    revocation: tsaRevocation,
    proxies,
    logger,
    onTime: (time) => clockWatch?.note(new URL(url).host, time),
  })
}

/** Lists that belong together must have one item for each authority. */
export function assertConsistent({ tsa, tsaUrl, tsaCa, tsaPolicy }: Config): void {
  if (tsa !== 'rfc3161') {
    if (tsaUrl.length > 0 || tsaCa.length > 0 || tsaPolicy.length > 0)
      throw configError(
        `EVIDENCE_TSA is ${tsa}, which needs no URL, CA or policy: set it to rfc3161, or remove those settings`,
      )
    return
  }
  if (tsaUrl.length === 0) throw configError('EVIDENCE_TSA=rfc3161 needs EVIDENCE_TSA_URL')
  if (tsaCa.length !== tsaUrl.length)
    throw configError(
      `EVIDENCE_TSA_CA must have one PEM file for each URL of EVIDENCE_TSA_URL: expected ${tsaUrl.length}, ` +
        `got ${tsaCa.length}`,
    )
  if (tsaPolicy.length > 0 && tsaPolicy.length !== tsaUrl.length)
    throw configError(
      `EVIDENCE_TSA_POLICY must have one policy for each URL of EVIDENCE_TSA_URL: expected ${tsaUrl.length}, ` +
        `got ${tsaPolicy.length}`,
    )
}
