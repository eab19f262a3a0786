// The pictures of the parts that come later.
export const pictures = {
  search: 'm20 20-4.5-4.500M17 10.500a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0Z',
  pin: 'M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5',
  bin: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  download: 'M12 4v11M7 10.500l5 5 5-5M5 20h14',
  minus: 'M5 12h14',
} as const;
