# refused: ModuleNotFoundError: pygame
import pygame

pygame.init()
