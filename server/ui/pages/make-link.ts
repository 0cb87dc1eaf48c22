import type { Client } from '../../client/index.ts'
import { FieldError } from '../failure.ts'
import * as texts from '../texts/index.ts'

export interface MadeLink {
  readonly url: string
  /** Absent: until somebody ends it. */
  readonly expiresAt?: string | undefined
}

/**
 * Makes a link of an evidence at the version that the user has seen. Ends it again and throws if it shows a later one,
 * such as one with the next owner, or if its only response was lost.
 */
export async function makeLink(
  client: Client,
  request: Parameters<Client['createShare']>[0],
  version: number,
): Promise<MadeLink> {
  const { externalId } = request
  const { id, url, expiresAt } = await client.createShare(request)
  const { shares } = await client.listShares({ externalId })
  if (url !== undefined && shares.find((share) => share.id === id)?.version === version) return { url, expiresAt }
  await client.endShare({ externalId, shareId: id })
  throw new FieldError({ share: texts.share.changed })
}
