import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Client, EvidenceFilter, EvidenceList, EvidenceListItem } from '../../client/index.ts'

const PAGE_ITEMS = 100

/** The evidences of a search that are loaded so far. */
export interface EvidenceItems {
  readonly items: readonly EvidenceListItem[]
  readonly count: number
  readonly countIsMore: boolean
  readonly isComplete: boolean
  readonly error: unknown
}

const NOTHING: EvidenceItems = { items: [], count: 0, countIsMore: false, isComplete: false, error: undefined }

/** Filtered and sorted lists continue at `next`, other lists after their last item. */
type Position = { readonly next: string } | { readonly last: string } | undefined

function positionAfter({ next, isMore, dts }: EvidenceList): Position {
  if (next !== undefined) return { next }
  const last = dts.at(-1)?.id
  return isMore === true && last !== undefined ? { last } : undefined
}

/** Reads a list page by page. `loadMore` requests the next page unless one is being requested. */
export function useEvidences(client: Client, filter: EvidenceFilter) {
  const [state, setState] = useState(NOTHING)
  const position = useRef<Position>(undefined)
  const running = useRef<AbortController>(undefined)
  const isComplete = useRef(false)
  const key = JSON.stringify(filter)

  const loadMore = useCallback((): void => {
    if (running.current !== undefined || isComplete.current) return
    const abort = new AbortController()
    running.current = abort
    const read = async (): Promise<void> => {
      try {
        const page = await client.listEvidences({ len: PAGE_ITEMS, ...filter, ...position.current }, abort)
        if (abort.signal.aborted) return
        running.current = undefined
        position.current = positionAfter(page)
        isComplete.current = position.current === undefined
        setState(({ items }) => ({
          items: [...items, ...page.dts],
          count: page.count,
          countIsMore: page.countIsMore === true,
          isComplete: isComplete.current,
          error: undefined,
        }))
      } catch (error) {
        // `running` stays set, so that a failure is not repeated by scrolling. `retry` clears it.
        if (!abort.signal.aborted) setState((before) => ({ ...before, error }))
      }
    }
    void read()
  }, [client, key])

  const retry = (): void => {
    running.current = undefined
    loadMore()
  }
  useEffect(() => {
    position.current = undefined
    isComplete.current = false
    setState(NOTHING)
    loadMore()
    return () => {
      running.current?.abort()
      running.current = undefined
    }
  }, [loadMore])
  return { ...state, loadMore, retry }
}
