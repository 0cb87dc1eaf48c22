import type { Shares } from '../../api/shares.ts'
import type { Context } from '../context.ts'
import type { LastUses } from '../last-uses.ts'
import type { BundleSources } from '../proof/vouchers.ts'
import { createShare } from './create.ts'
import { endShare } from './end.ts'
import { listShares } from './list.ts'
import { findSharedFile, openShare } from './open.ts'

interface ShareParts {
  readonly sources: BundleSources
  readonly uses: LastUses
}

/** The operations on shares. Their contract is `Shares`. */
export const shareOperations = (context: Context, { sources, uses }: ShareParts): Shares => ({
  create: createShare(context),
  list: listShares(context, uses),
  end: endShare(context),
  open: openShare(context, sources, uses),
  file: findSharedFile(context, uses),
})
